package org.mmapqueue.core;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A close against other calls: each call completes, or throws {@code ClosedException} and has no effect. */
public final class CloseAgainstCalls {
    private CloseAgainstCalls() {}

    /** A push: its record exists if and only if the push returned. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "pushed, and readable")
    @Outcome(id = "-2, -1", expect = Expect.ACCEPTABLE, desc = "the push throws; no record")
    @Outcome(expect = Expect.FORBIDDEN, desc = "lost, or readable although the push threw")
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

    /** A push of a record that spans segments. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "pushed, and readable")
    @Outcome(id = "-2, -1", expect = Expect.ACCEPTABLE, desc = "the push throws; no record")
    @Outcome(expect = Expect.FORBIDDEN, desc = "lost, or readable although the push threw")
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

    /** A pop and an ack: the stored committed position includes the record if and only if the ack returned. */
    @JCStressTest
    @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "popped and acked")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "popped; the ack throws")
    @Outcome(id = "-2, 0", expect = Expect.ACCEPTABLE, desc = "the pop throws")
    @Outcome(expect = Expect.FORBIDDEN, desc = "acked although the ack threw, or not acked although it returned")
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
            // The next open reads the stored committed position.
            int stored = queue.storedCommitted();
            r.r2 = acked == (stored == 1) ? stored : -3;
        }
    }
}
