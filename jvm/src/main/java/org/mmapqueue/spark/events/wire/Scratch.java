package org.mmapqueue.spark.events.wire;

/** Buffers of a thread, for functions that write several texts at once and have no state. */
public final class Scratch {
    private static final ThreadLocal<Scratch> OF_THREAD = ThreadLocal.withInitial(Scratch::new);

    public final JsonBuffer attributes = new JsonBuffer();
    public final JsonBuffer second = new JsonBuffer();
    public final JsonBuffer third = new JsonBuffer();
    public final JsonBuffer fourth = new JsonBuffer();

    private Scratch() {}

    /** The thread's buffers, cleared. */
    public static Scratch get() {
        Scratch scratch = OF_THREAD.get();
        scratch.attributes.clear();
        scratch.second.clear();
        scratch.third.clear();
        scratch.fourth.clear();
        return scratch;
    }
}
