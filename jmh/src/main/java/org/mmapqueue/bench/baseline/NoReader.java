package org.mmapqueue.bench.baseline;

import org.mmapqueue.bench.Subject;

/** The reader of a file that is written again whether it was read or not: always content. */
final class NoReader implements Subject.Reader {
    @Override
    public boolean pop() {
        return true;
    }

    @Override
    public void ack() {
        // Nothing waits for it.
    }
}
