package org.mmapqueue.core;

import org.mmapqueue.Records;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A batch whose second record can not be had: nothing is left of it, and others go on. */
public final class FailedProducer {
    private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.INSIDE);
    /** Larger than the good record: what is left of it would be behind that one. */
    private static final byte[] LOST = SmallQueue.record(5, 2 * SmallQueue.INSIDE);

    private static final byte[] FIRST = SmallQueue.record(9, SmallQueue.INSIDE);

    @SuppressWarnings("StaticAssignmentOfThrowable") // its stack is not read
    private static final RuntimeException FAILURE = new IllegalStateException("injected");

    private FailedProducer() {}

    /** Fails within the claim, when its first record is stored but for its header. */
    private static final class FailingBatch implements Records {
        @Override
        public int count() {
            return 2;
        }

        @Override
        public byte[] array(int i) {
            if (i == 1) {
                throw FAILURE;
            }
            return LOST;
        }

        @Override
        public int from(int i) {
            return 0;
        }

        @Override
        public int length(int i) {
            return LOST.length;
        }
    }

    // With a record in front, which must stay as it is.
    private static SmallQueue begun() {
        SmallQueue queue = new SmallQueue();
        queue.push(FIRST);
        queue.poll(SmallQueue.INSIDE);
        return queue;
    }

    private static void fail(SmallQueue queue) {
        try {
            queue.core.writer().push(new FailingBatch());
        } catch (IllegalStateException e) {
            if (e != FAILURE) {
                throw e;
            }
        }
    }

    /** Whether the only record behind the first one is the good one. */
    private static int onlyGood(SmallQueue queue) {
        int found = queue.poll(SmallQueue.INSIDE);
        int behind = queue.poll(SmallQueue.INSIDE);
        return behind == SmallQueue.NOTHING && queue.core.endOffset() == 2 ? found : -3;
    }

    /** Another producer. */
    @JCStressTest
    @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "the good record is there, and nothing else")
    @Outcome(expect = Expect.FORBIDDEN, desc = "some of the batch, or the good record is not there")
    @State
    public static class AgainstPush {
        private final SmallQueue queue = begun();

        @Actor
        public void failing() {
            fail(queue);
        }

        @Actor
        public void good(II_Result r) {
            r.r1 = queue.push(RECORD);
        }

        @Arbiter
        public void end(II_Result r) {
            r.r2 = onlyGood(queue);
        }
    }

    /** A consumer. */
    @JCStressTest
    @Outcome(id = "-1, 0", expect = Expect.ACCEPTABLE, desc = "nothing; then the next push is all there is")
    @Outcome(expect = Expect.FORBIDDEN, desc = "some of the batch, or the next push is not there")
    @State
    public static class AgainstPop {
        private final SmallQueue queue = begun();

        @Actor
        public void failing() {
            fail(queue);
        }

        @Actor
        public void consumer(II_Result r) {
            r.r1 = queue.poll(SmallQueue.INSIDE);
        }

        @Arbiter
        public void end(II_Result r) {
            queue.push(RECORD);
            r.r2 = onlyGood(queue);
        }
    }
}
