package org.mmapqueue.swap;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A pinned segment is read while other segments are mapped and evicted: the reader sees its bytes alone. */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "each reads the bytes of its own segment")
@Outcome(expect = Expect.FORBIDDEN, desc = "other bytes, an error, or more mapped than allowed")
@State
public class SwapOut {
    private static final int MOST = 4;
    static final SwappedSegments SEGMENTS = new SwappedSegments(MOST);

    @Actor
    public void first(II_Result r) {
        r.r1 = SEGMENTS.readOne();
    }

    @Actor
    public void second(II_Result r) {
        SEGMENTS.evict();
        r.r2 = SEGMENTS.readOne();
    }
}
