package org.mmapqueue.bench.other;

import org.mmapqueue.bench.Contender;

/** The reader of a file that is written again whether it was read or not: always content. */
final class NoReader implements Contender.Reader {
    @Override
    public boolean pop() {
        return true;
    }

    @Override
    public void ack() {
        // Nothing waits for it.
    }
}
