package org.mmapqueue.core;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Closing, against calls: each is done as a whole, or raises Closed and has done nothing. */
public final class CloseAgainstCalls {
    private CloseAgainstCalls() {}

    /** A push: what has returned is there, what was refused is not. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "pushed, and there")
    @Outcome(id = "-2, -1", expect = Expect.ACCEPTABLE, desc = "refused, and not there")
    @Outcome(expect = Expect.FORBIDDEN, desc = "lost, or there though it was refused")
    @State
    public static class Push {
        private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.INSIDE);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer(II_Result r) {
            r.r1 = queue.push(RECORD);
        }

        @Actor
        public void closer() {
            queue.core.writer().stopAppending();
        }

        @Arbiter
        public void end(II_Result r) {
            r.r2 = queue.poll(SmallQueue.INSIDE);
        }
    }

    /** A push into further segments. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "pushed, and there")
    @Outcome(id = "-2, -1", expect = Expect.ACCEPTABLE, desc = "refused, and not there")
    @Outcome(expect = Expect.FORBIDDEN, desc = "lost, or there though it was refused")
    @State
    public static class SpanningPush {
        private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.SPANNING);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer(II_Result r) {
            r.r1 = queue.push(RECORD);
        }

        @Actor
        public void closer() {
            queue.core.writer().stopAppending();
        }

        @Arbiter
        public void end(II_Result r) {
            r.r2 = queue.poll(SmallQueue.SPANNING);
        }
    }

    /** A pop and an ack: what was acked is acked at the next open, and nothing else. */
    @JCStressTest
    @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "popped and acked")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "popped; the ack was refused")
    @Outcome(id = "-2, 0", expect = Expect.ACCEPTABLE, desc = "refused")
    @Outcome(expect = Expect.FORBIDDEN, desc = "acked though that was refused, or not acked though it was not")
    @State
    public static class PopAndAck {
        private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.INSIDE);
        private final SmallQueue queue = new SmallQueue();
        private boolean acked;

        public PopAndAck() {
            queue.push(RECORD);
        }

        @Actor
        public void consumer(II_Result r) {
            r.r1 = queue.poll(SmallQueue.INSIDE);
            if (r.r1 == 0) {
                acked = queue.ack(0);
            }
        }

        @Actor
        public void closer() {
            queue.closeConsumer();
        }

        @Arbiter
        public void end(II_Result r) {
            // A consumer that is opened next begins at what is stored.
            int stored = queue.storedCommitted();
            r.r2 = acked == (stored == 1) ? stored : -3;
        }
    }
}
