package org.mmapqueue.io;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Checks that the stack has room, before a lock of the JDK is taken: a thread that overflows its stack inside may fail
 * to unlock, or leave a change unfinished that other threads wait for. Has no state; safe for any number of threads.
 */
public final class StackRoom {
    // More frames than filling, mapping or fsyncing a segment needs, interpreted or compiled. The check takes less
    // than 1 µs.
    private static final int FRAMES = 400;
    // More frames than a read of mapped segments needs, interpreted or compiled. A check for 400 takes a quarter of a
    // random read.
    private static final int FRAMES_OF_READ = 100;

    private StackRoom() {}

    /** Throws StackOverflowError when little room is left. */
    public static void ensure() {
        descend(FRAMES);
    }

    /** Takes a lock for a read that maps nothing; throws StackOverflowError instead when very little room is left. */
    public static void lockForRead(ReentrantLock lock) {
        descend(FRAMES_OF_READ);
        lock.lock();
    }

    /** Takes a lock; throws StackOverflowError instead when little room is left. */
    public static void lock(ReentrantLock lock) {
        descend(FRAMES);
        lock.lock();
    }

    private static int descend(int frames) {
        return frames == 0 ? 0 : 1 + descend(frames - 1);
    }
}
