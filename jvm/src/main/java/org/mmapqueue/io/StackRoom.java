package org.mmapqueue.io;

/**
 * Asks for room on the stack before something is begun that must not be cut short. An overflow in the middle of it
 * could leave a lock held for good: a thread at the end of its stack may not even have the room to call unlock. Has no
 * state; safe for any number of threads.
 */
public final class StackRoom {
    // Together more than the deepest way into the next segment takes, also when these frames are compiled and those
    // are not. They cost less than a microsecond.
    private static final int FRAMES = 400;

    private StackRoom() {}

    /** Raises StackOverflowError, while nothing has happened yet, when there is little room left. */
    public static void ensure() {
        descend(FRAMES);
    }

    private static int descend(int frames) {
        return frames == 0 ? 0 : 1 + descend(frames - 1);
    }
}
