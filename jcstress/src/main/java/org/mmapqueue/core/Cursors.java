package org.mmapqueue.core;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Cursors as another thread sees them: committed ≤ reading ≤ end. All of them only grow, so the observer loads the
 * smaller one first.
 */
public final class Cursors {
    private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.INSIDE);
    private static final byte[] SPANNING = SmallQueue.record(0, SmallQueue.SPANNING);

    private Cursors() {}

    private static void pushPopAndAck(SmallQueue queue) {
        queue.push(RECORD);
        queue.poll(SmallQueue.INSIDE);
        queue.ack(0);
    }

    /** Offsets, as this process reads them. */
    @JCStressTest
    @Outcome(
            id = {"0, 0, 0", "0, 0, 1", "0, 1, 1", "1, 1, 1"},
            expect = Expect.ACCEPTABLE,
            desc = "committed <= read <= end")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a cursor is ahead of the one that bounds it")
    @State
    public static class Offsets {
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void worker() {
            pushPopAndAck(queue);
        }

        @Actor
        public void observer(III_Result r) {
            r.r1 = (int) queue.consumer.committedOffset();
            r.r2 = (int) queue.consumer.readOffset();
            r.r3 = (int) queue.core.endOffset();
        }
    }

    /** Positions, as the pages store them for every process. */
    @JCStressTest
    @Outcome(
            id = {"0, 0, 0", "0, 0, 1", "0, 1, 1", "1, 1, 1"},
            expect = Expect.ACCEPTABLE,
            desc = "committed <= reading <= writing")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a cursor is ahead of the one that bounds it, or within a record")
    @State
    public static class Positions {
        private static final int START = 64;
        private static final int END = START + 16 + SmallQueue.INSIDE;
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void worker() {
            pushPopAndAck(queue);
        }

        @Actor
        public void observer(III_Result r) {
            r.r1 = records(queue.cursors.committed());
            r.r2 = records(queue.cursors.reading());
            r.r3 = records(queue.meta.writing());
        }

        private static int records(long position) {
            return position == 0 || position == START ? 0 : position == END ? 1 : -1;
        }
    }

    /** The public statistics of the queue and of its consumer. */
    @JCStressTest
    @Outcome(
            id = {"0, 0", "0, 1", "1, 0", "1, 1"},
            expect = Expect.ACCEPTABLE,
            desc = "a consistent snapshot")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a consumer ahead of the end, or a negative figure")
    @State
    public static class Figures {
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void worker() {
            pushPopAndAck(queue);
        }

        @Actor
        public void observer(II_Result r) {
            r.r1 = queue.isSound(queue.core.stats()) ? (int) queue.core.endOffset() : -1;
            r.r2 = queue.isSound(queue.core.consumerStats().get(0)) ? (int) queue.consumer.committedOffset() : -1;
        }
    }

    /** The statistics, read by a consumer that may pop a record before its push has returned. */
    @JCStressTest
    @Outcome(
            id = {"-1, 0", "0, 0"},
            expect = Expect.ACCEPTABLE,
            desc = "a consistent snapshot")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a consumer ahead of the end, or a negative figure")
    @State
    public static class FiguresOfPopped {
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer() {
            queue.push(SPANNING);
        }

        @Actor
        public void consumer(II_Result r) {
            r.r1 = queue.poll(SmallQueue.SPANNING);
            if (r.r1 == 0) {
                queue.ack(0);
            }
            r.r2 = (queue.isSound(queue.core.stats()) ? 0 : 1)
                    + (queue.isSound(queue.core.consumerStats().get(0)) ? 0 : 2);
        }
    }
}
