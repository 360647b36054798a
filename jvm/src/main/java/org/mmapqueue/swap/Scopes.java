package org.mmapqueue.swap;

/** Where writer and readers are: what the replacement policy goes by. Safe to call from any thread. */
public interface Scopes {

    /** The id of the segment that is being written. */
    long writing();

    /** The ids of the segments that the active readers are in; may be empty. */
    long[] reading();
}
