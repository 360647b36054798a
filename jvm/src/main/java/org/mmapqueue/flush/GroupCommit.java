package org.mmapqueue.flush;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Work that many threads ask for at once, and that one run serves for all who asked before it began. One of them runs
 * it; whoever asks meanwhile waits for the next run, which begins when this one ends. Those who are served go on at once:
 * none of them needs a lock that the others need, too. Mostly they ask again at once; the next run gives way to them for
 * some µs, as else two halves of them would take turns for ever. Safe for any number of threads.
 */
final class GroupCommit {
    /** How often a run gives way: some µs when nobody wants the processor, and never longer than they come for. */
    private static final int MOST_YIELDS = 30;

    private Round running;
    /** Whom the next run will serve: not begun yet; null when nobody has asked. */
    private Round next;
    /** How many the last run has served. */
    private int served;

    private static final class Round {
        private final List<Thread> waiting = new ArrayList<>();
        /** How many have asked for this run, its leader included. */
        private volatile int size;
        /** How many may be expected: those whom the run before has served, and those who had asked by then. */
        private int expected;

        private volatile Thread leader;
        private volatile boolean over;
    }

    /**
     * Returns when work has been run that began after the call. If it fails, that is thrown to who has run it; the others
     * are not told. An interrupt does not end the wait, and stays pending.
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

    // A thread that asks alone gives way to nobody.
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

    // From here on who comes is too late for this round.
    private synchronized void begin(Round round) {
        if (next == round) {
            next = null;
        }
    }

    private void end(Round round) {
        Thread leader = promoteNext(round);
        if (leader != null) {
            LockSupport.unpark(leader); // first: the others have what they wanted
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
