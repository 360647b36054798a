package org.mmapqueue.flush;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads poison the writer at once: both see the same cause, also if one looks before the other has stored. */
@JCStressTest
@Outcome(
        id = {"1, 1", "2, 2"},
        expect = Expect.ACCEPTABLE,
        desc = "one of the two is the cause")
@Outcome(expect = Expect.FORBIDDEN, desc = "the cause has changed")
@State
public class TwoFailures {
    private final Throwable one = new IllegalStateException("first");
    private final Throwable other = new IllegalStateException("second");

    private final FlusherState state = new FlusherState();

    private int failure() {
        return state.failure() == one ? 1 : 2;
    }

    @Actor
    public void first(II_Result r) {
        state.poison(one);
        r.r1 = failure();
    }

    @Actor
    public void second(II_Result r) {
        state.poison(other);
        r.r2 = failure();
    }
}
