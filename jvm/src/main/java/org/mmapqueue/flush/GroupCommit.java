package org.mmapqueue.flush;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Work that many threads ask for at once, and that one run serves for all who asked before it began. One of them runs
 * it; whoever asks meanwhile waits for the next run, which begins when this one ends. Those who are served go on at once:
 * none of them needs a lock that the others need, too. Safe for any number of threads.
 */
final class GroupCommit {
    private Round running;
    /** Whom the next run will serve: not begun yet; null when nobody has asked. */
    private Round next;

    private static final class Round {
        private final List<Thread> waiting = new ArrayList<>();
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
            begin(mine);
            work.run();
        } finally {
            end(mine);
        }
    }

    private synchronized Round join(Thread self) {
        Round mine = next == null ? new Round() : next;
        if (running == null) {
            mine.leader = self;
            running = mine;
        } else {
            mine.waiting.add(self);
        }
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
        Round then = next == round ? null : next;
        if (then == null || then.waiting.isEmpty()) {
            running = null;
            next = null;
            return null;
        }
        running = then;
        then.leader = then.waiting.get(0);
        return then.leader;
    }
}
