package org.mmapqueue.flush;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Group commit: one run serves all threads that asked before it began. One of them, the leader, runs the work. Threads
 * that ask during a run wait for the next run, which begins when this one ends. Served threads return without taking a
 * lock. They mostly ask again at once, so the leader of the next run yields to them for some µs; otherwise two halves
 * of the threads would take turns. Safe for any number of threads.
 */
final class GroupCommit {
    /** The maximum number of yields before a run: some µs when no other thread needs the processor. */
    private static final int MOST_YIELDS = 30;

    private Round running;
    /** The next run, which has not begun; null when no thread has asked. */
    private Round next;
    /** Number of threads that the last run served. */
    private int served;

    private static final class Round {
        private final List<Thread> waiting = new ArrayList<>();
        /** Number of threads that have asked for this run, including its leader. */
        private volatile int size;
        /** Number of threads to expect: those that the previous run served, and those that had asked by then. */
        private int expected;

        private volatile Thread leader;
        private volatile boolean over;
    }

    /**
     * Waits for a run that begins after the call. If the work fails, the leader throws; the other threads return. An
     * interrupt does not end the wait, and stays pending.
     */
    void run(Runnable work) {
        Thread self = Thread.currentThread();
        Round mine = join(self);
        if (mine.leader != self) {
            boolean interrupted = false;
            while (!mine.over && mine.leader != self) {
                LockSupport.park(this);
                interrupted |= Thread.interrupted();
            }
            if (interrupted) {
                self.interrupt();
            }
            if (mine.over) {
                return;
            }
        }
        try {
            gather(mine);
            begin(mine);
            work.run();
        } finally {
            end(mine);
        }
    }

    // Waits for expected threads. A thread that asks alone does not yield.
    private static void gather(Round round) {
        for (int i = 0; i < MOST_YIELDS && round.size < round.expected; i++) {
            Thread.yield();
        }
    }

    private synchronized Round join(Thread self) {
        Round mine = next == null ? new Round() : next;
        if (running == null) {
            mine.leader = self;
            mine.expected = served;
            running = mine;
        } else {
            mine.waiting.add(self);
        }
        mine.size = mine.size + 1;
        next = mine;
        return mine;
    }

    // Threads that ask from now on wait for the next round.
    private synchronized void begin(Round round) {
        if (next == round) {
            next = null;
        }
    }

    private void end(Round round) {
        Thread leader = promoteNext(round);
        if (leader != null) {
            LockSupport.unpark(leader); // the new leader first; the others have been served
        }
        round.over = true;
        for (Thread each : round.waiting) {
            LockSupport.unpark(each);
        }
    }

    private synchronized Thread promoteNext(Round round) {
        served = round.size;
        Round then = next == round ? null : next;
        if (then == null || then.waiting.isEmpty()) {
            running = null;
            next = null;
            return null;
        }
        running = then;
        then.expected = then.size + served;
        then.leader = then.waiting.get(0);
        return then.leader;
    }
}
