package org.mmapqueue.concurrent;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.mmapqueue.io.Threads;

/**
 * An exclusive lock: one compare-and-set to take it, one release store to release it. A waiting thread spins, yields,
 * then sleeps 50 µs at a time. Not fair, not reentrant. It is held only within calls of this library: the caller's code
 * never runs under it.
 *
 * <p>At the end of its stack a thread may fail to call {@link #unlock}, and leave the lock held. The next call of the
 * same thread takes the lock over. Any other waiting thread takes it from an owner that has left this library, in these
 * steps:
 *
 * <ol>
 *   <li>replace the owner by a {@link Suspect}, which an unlock, or a lock by another thread, would overwrite;
 *   <li>read the owner's stack; a frame of this library ends the attempt, and so does a stack that may be cut off;
 *   <li>replace the suspect by the waiting thread: if the suspect is still stored, the owner left without unlocking.
 * </ol>
 */
public final class SpinLock {
    private static final VarHandle OWNER;
    private static final int SPINS = 64;
    private static final int YIELDS = 16;
    private static final long SLEEP_NANOS = 50_000;
    /** A waiting thread reads the owner's stack once in this number of rounds, which take 0.1 s at least. */
    private static final int ROUNDS_PER_LOOK = 2000;
    /** More frames than are above the one that has locked. */
    private static final int FRAMES = 100;

    /** The frames of a stack trace that is this deep; negative before the first look. */
    private static volatile int framesSeen = -1;

    /** The package of the library, by this class: a program may contain the library under another name. */
    private static final String LIBRARY = libraryOf(SpinLock.class.getName(), "concurrent.SpinLock");

    static {
        try {
            OWNER = MethodHandles.lookup().findVarHandle(SpinLock.class, "owner", Object.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static String libraryOf(String name, String rest) {
        return name.substring(0, name.length() - rest.length());
    }

    /** An owner that may have left the lock held. */
    private record Suspect(Thread owner) {
        boolean hasLeft() {
            if (!owner.isAlive()) {
                return true;
            }
            StackTraceElement[] frames = owner.getStackTrace();
            if (frames.length == 0 || !showsFrames()) {
                return false;
            }
            for (StackTraceElement frame : frames) {
                if (frame.getClassName().startsWith(LIBRARY)) {
                    return false;
                }
            }
            return true;
        }
    }

    // Whether stack traces show the frame that has locked: options of the JVM cut them off, or leave them out.
    private static boolean showsFrames() {
        int seen = framesSeen;
        if (seen < 0) {
            seen = framesSeen(FRAMES);
            framesSeen = seen;
        }
        return seen >= FRAMES;
    }

    private static int framesSeen(int frames) {
        return frames == 0 ? new Throwable().getStackTrace().length : framesSeen(frames - 1);
    }

    // A cache line on either side: two locks must not share one.
    private long p00, p01, p02, p03, p04, p05, p06;
    /** The owning thread, a {@link Suspect}, or null when the lock is free. */
    private volatile Object owner;

    private long p10, p11, p12, p13, p14, p15, p16;

    /** Waits until the lock is free and takes it. An interrupt does not end the wait, and stays pending. */
    public void lock() {
        Thread self = Thread.currentThread();
        if (!OWNER.compareAndSet(this, null, self)) {
            contend(self);
        }
    }

    /** Releases the lock. The caller holds it. */
    public void unlock() {
        try {
            OWNER.setRelease(this, null);
        } catch (StackOverflowError e) {
            owner = null; // one store, which cannot fail at the end of the stack
        }
    }

    private void contend(Thread self) {
        for (int round = 1; ; round++) {
            Object holder = owner;
            if ((holder == null || ownerOf(holder) == self) && OWNER.compareAndSet(this, holder, self)) {
                return;
            }
            if (round < SPINS) {
                Thread.onSpinWait();
            } else if (round < SPINS + YIELDS) {
                Thread.yield();
            } else {
                Threads.pause(SLEEP_NANOS);
                if (round % ROUNDS_PER_LOOK == 0 && takeIfLeft(self)) {
                    return;
                }
            }
        }
    }

    private static Thread ownerOf(Object holder) {
        return holder instanceof Suspect suspect ? suspect.owner : (Thread) holder;
    }

    private boolean takeIfLeft(Thread self) {
        Object holder = owner;
        if (holder instanceof Thread thread) {
            holder = new Suspect(thread);
            if (!OWNER.compareAndSet(this, thread, holder)) {
                return false;
            }
        }
        return holder instanceof Suspect suspect && suspect.hasLeft() && OWNER.compareAndSet(this, suspect, self);
    }

    /** Reads the padding, so that the compiler does not remove it as unused. */
    long padding() {
        return p00 + p01 + p02 + p03 + p04 + p05 + p06 + p10 + p11 + p12 + p13 + p14 + p15 + p16;
    }
}
