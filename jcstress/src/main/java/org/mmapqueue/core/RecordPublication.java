package org.mmapqueue.core;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A push against a pop: nothing, or the whole record. */
public final class RecordPublication {
    private RecordPublication() {}

    /** Within a segment. */
    @JCStressTest
    @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "no record yet")
    @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "the whole record")
    @Outcome(expect = Expect.FORBIDDEN, desc = "anything else")
    @State
    public static class Inside {
        private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.INSIDE);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer() {
            queue.push(RECORD);
        }

        @Actor
        public void consumer(I_Result r) {
            r.r1 = queue.poll(SmallQueue.INSIDE);
        }
    }

    /** The record continues in the next segment. */
    @JCStressTest
    @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "no record yet")
    @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "the whole record")
    @Outcome(expect = Expect.FORBIDDEN, desc = "anything else")
    @State
    public static class Spanning {
        private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.SPANNING);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer() {
            queue.push(RECORD);
        }

        @Actor
        public void consumer(I_Result r) {
            r.r1 = queue.poll(SmallQueue.SPANNING);
        }
    }
}
