package org.mmapqueue.core;

import org.mmapqueue.Records;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads share one consumer: each record is delivered to one of them. */
public final class SharedConsumer {
    private SharedConsumer() {}

    /** Each thread pops one record. */
    @JCStressTest
    @Outcome(
            id = {"0, 1", "1, 0"},
            expect = Expect.ACCEPTABLE,
            desc = "a record each")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a record twice, or one not delivered")
    @State
    public static class OneByOne {
        private static final Records BATCH = SmallQueue.batch(2, SmallQueue.INSIDE);
        private final SmallQueue queue = new SmallQueue();

        public OneByOne() {
            queue.core.writer().push(BATCH);
        }

        @Actor
        public void first(II_Result r) {
            r.r1 = queue.poll(SmallQueue.INSIDE);
        }

        @Actor
        public void second(II_Result r) {
            r.r2 = queue.poll(SmallQueue.INSIDE);
        }
    }

    /** Each thread acks its own record; the other thread's record stays in flight until it is acked. */
    @JCStressTest
    @Outcome(
            id = {"0, 1", "1, 0"},
            expect = Expect.ACCEPTABLE,
            desc = "a record each, and both are acked at the end")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a record twice, one not delivered, or one not acked")
    @State
    public static class WithSingleAcks {
        private static final Records BATCH = SmallQueue.batch(2, SmallQueue.SPANNING);
        private final SmallQueue queue = new SmallQueue();

        public WithSingleAcks() {
            queue.core.writer().push(BATCH);
        }

        private int popAndAck() {
            int popped = queue.poll(SmallQueue.SPANNING);
            queue.consumer.ack(popped);
            return popped;
        }

        @Actor
        public void first(II_Result r) {
            r.r1 = popAndAck();
        }

        @Actor
        public void second(II_Result r) {
            r.r2 = popAndAck();
        }

        @Arbiter
        public void end(II_Result r) {
            if (queue.consumer.committedOffset() != 2 || queue.consumer.unacked() != 0) {
                r.r1 = (int) -queue.consumer.committedOffset() - 10;
            }
        }
    }
}
