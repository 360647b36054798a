package org.mmapqueue.core;

import org.mmapqueue.Records;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads pop with one consumer: each record goes to one of them. */
public final class HandOut {
    private HandOut() {}

    /** One record each. */
    @JCStressTest
    @Outcome(
            id = {"0, 1", "1, 0"},
            expect = Expect.ACCEPTABLE,
            desc = "a record each")
    @Outcome(expect = Expect.FORBIDDEN, desc = "one twice, or one for nobody")
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

    /** One thread acks what it has popped; the other one's record stays out until it acks, too. */
    @JCStressTest
    @Outcome(
            id = {"0, 1", "1, 0"},
            expect = Expect.ACCEPTABLE,
            desc = "a record each, and both are acked at the end")
    @Outcome(expect = Expect.FORBIDDEN, desc = "one twice, one for nobody, or one that is not acked")
    @State
    public static class WithSingleAcks {
        private static final Records BATCH = SmallQueue.batch(2, SmallQueue.SPANNING);
        private final SmallQueue queue = new SmallQueue();

        public WithSingleAcks() {
            queue.core.writer().push(BATCH);
        }

        private int popAndAck() {
            int popped = queue.poll(SmallQueue.SPANNING);
            queue.consumer.ackSingle(popped);
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
