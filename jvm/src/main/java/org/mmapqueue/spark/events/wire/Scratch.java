package org.mmapqueue.spark.events.wire;

/** Buffers of a thread for what is written side by side: the functions have no state of their own. */
public final class Scratch {
    private static final ThreadLocal<Scratch> OF_THREAD = ThreadLocal.withInitial(Scratch::new);

    public final JsonBuffer attributes = new JsonBuffer();
    public final JsonBuffer second = new JsonBuffer();
    public final JsonBuffer third = new JsonBuffer();
    public final JsonBuffer fourth = new JsonBuffer();

    private Scratch() {}

    /** The thread's buffers, empty. What was begun and not taken is forgotten. */
    public static Scratch get() {
        Scratch scratch = OF_THREAD.get();
        scratch.attributes.clear();
        scratch.second.clear();
        scratch.third.clear();
        scratch.fourth.clear();
        return scratch;
    }
}
