package org.mmapqueue.swap;

/** The segments of the writer and of the readers, as input of the replacement policy. Safe to call from any thread. */
public interface Scopes {

    /** The id of the segment that is being written. */
    long writing();

    /** The ids of the segments that the active readers are in; may be empty. */
    long[] reading();
}
