package org.mmapqueue.queue;

/** Where a new consumer begins. */
public enum StartAt {
    /** With the oldest record that some consumer has not acked yet. */
    EARLIEST,
    /** With the next record that is pushed. */
    LATEST
}
