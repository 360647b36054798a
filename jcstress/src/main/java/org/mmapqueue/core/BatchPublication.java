package org.mmapqueue.core;

import org.mmapqueue.Records;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** A push of a batch against pops: none of its records, or all. */
public final class BatchPublication {
    private BatchPublication() {}

    /** Within a segment, popped at once. */
    @JCStressTest
    @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "no record yet")
    @Outcome(id = "3", expect = Expect.ACCEPTABLE, desc = "the whole batch")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a part of it, or anything else")
    @State
    public static class ByPopBatch {
        private static final Records BATCH = SmallQueue.batch(3, SmallQueue.INSIDE);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer() {
            queue.core.writer().push(BATCH);
        }

        @Actor
        public void consumer(I_Result r) {
            r.r1 = queue.pollBatch(SmallQueue.INSIDE);
        }
    }

    /** Within a segment, popped one by one. */
    @JCStressTest
    @Outcome(id = "-1, -1, -1", expect = Expect.ACCEPTABLE, desc = "no record yet")
    @Outcome(
            id = {"-1, -1, 0", "-1, 0, 1", "0, 1, 2"},
            expect = Expect.ACCEPTABLE,
            desc = "the whole batch, from the pop that sees its first record on")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a record without the next one, or anything else")
    @State
    public static class ByPoll {
        private static final Records BATCH = SmallQueue.batch(3, SmallQueue.INSIDE);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer() {
            queue.core.writer().push(BATCH);
        }

        @Actor
        public void consumer(III_Result r) {
            r.r1 = queue.poll(SmallQueue.INSIDE);
            r.r2 = queue.poll(SmallQueue.INSIDE);
            r.r3 = queue.poll(SmallQueue.INSIDE);
        }
    }

    /** Over several segments, popped at once. */
    @JCStressTest
    @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "no record yet")
    @Outcome(id = "3", expect = Expect.ACCEPTABLE, desc = "the whole batch")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a part of it, or anything else")
    @State
    public static class SpanningByPopBatch {
        private static final Records BATCH = SmallQueue.batch(3, SmallQueue.SPANNING);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer() {
            queue.core.writer().push(BATCH);
        }

        @Actor
        public void consumer(I_Result r) {
            r.r1 = queue.pollBatch(SmallQueue.SPANNING);
        }
    }

    /** Over several segments, popped one by one. */
    @JCStressTest
    @Outcome(id = "-1, -1, -1", expect = Expect.ACCEPTABLE, desc = "no record yet")
    @Outcome(
            id = {"-1, -1, 0", "-1, 0, 1", "0, 1, 2"},
            expect = Expect.ACCEPTABLE,
            desc = "the whole batch, from the pop that sees its first record on")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a record without the next one, or anything else")
    @State
    public static class SpanningByPoll {
        private static final Records BATCH = SmallQueue.batch(3, SmallQueue.SPANNING);
        private final SmallQueue queue = new SmallQueue();

        @Actor
        public void producer() {
            queue.core.writer().push(BATCH);
        }

        @Actor
        public void consumer(III_Result r) {
            r.r1 = queue.poll(SmallQueue.SPANNING);
            r.r2 = queue.poll(SmallQueue.SPANNING);
            r.r3 = queue.poll(SmallQueue.SPANNING);
        }
    }
}
