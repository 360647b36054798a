package org.mmapqueue.bench.baseline;

import org.mmapqueue.bench.Subject;

/** The reader of a file that is overwritten whether it was read or not: each pop succeeds. */
final class NoReader implements Subject.Reader {
    @Override
    public boolean pop() {
        return true;
    }

    @Override
    public void ack() {
        // Writing does not wait for reading.
    }
}
