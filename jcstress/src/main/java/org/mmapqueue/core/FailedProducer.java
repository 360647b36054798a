package org.mmapqueue.core;

import org.mmapqueue.Records;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A batch that throws at its second record is rolled back, and later calls succeed. */
public final class FailedProducer {
    private static final byte[] RECORD = SmallQueue.record(0, SmallQueue.INSIDE);
    /** Larger than the good record, so that remains of it would follow that one. */
    private static final byte[] LOST = SmallQueue.record(5, 2 * SmallQueue.INSIDE);

    private static final byte[] FIRST = SmallQueue.record(9, SmallQueue.INSIDE);

    @SuppressWarnings("StaticAssignmentOfThrowable") // its stack is not read
    private static final RuntimeException FAILURE = new IllegalStateException("injected");

    private FailedProducer() {}

    /** Throws inside the appender's lock, when the first record is stored except for its header. */
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

    // A queue with one record, which is popped and must stay unchanged.
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

    /** 0 if the good record follows the first one and no other does; else a negative number. */
    private static int onlyGood(SmallQueue queue) {
        int found = queue.poll(SmallQueue.INSIDE);
        int next = queue.poll(SmallQueue.INSIDE);
        return next == SmallQueue.NOTHING && queue.core.endOffset() == 2 ? found : -3;
    }

    /** Against a push of another producer. */
    @JCStressTest
    @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "the good record alone")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a part of the batch, or no good record")
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

    /** Against a pop. */
    @JCStressTest
    @Outcome(id = "-1, 0", expect = Expect.ACCEPTABLE, desc = "nothing; then the record of the next push alone")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a part of the batch, or not the record of the next push")
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
