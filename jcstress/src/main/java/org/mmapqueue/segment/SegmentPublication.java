package org.mmapqueue.segment;

import java.util.Arrays;
import org.mmapqueue.stress.Memory;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** The publication rule: a thread that loads the header sees every store that preceded it. */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "no header, no record")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "the header and the whole record")
@Outcome(expect = Expect.FORBIDDEN, desc = "a header without its record")
@State
public class SegmentPublication {
    private static final byte[] PAYLOAD = new byte[40];
    private static final int TIMESTAMP = 8;
    private static final int BODY = 16;

    static {
        Arrays.fill(PAYLOAD, (byte) 7);
    }

    private final Segment segment = new Segment(0, null, Memory.take());

    public SegmentPublication() {
        segment.zero(0, BODY + PAYLOAD.length);
    }

    @Actor
    public void writer() {
        segment.putLong(TIMESTAMP, 1);
        segment.put(BODY, PAYLOAD, 0, PAYLOAD.length);
        segment.publish(0, 1);
    }

    @Actor
    public void reader(II_Result r) {
        r.r1 = (int) segment.headerAcquire(0);
        if (r.r1 != 0) {
            byte[] found = new byte[PAYLOAD.length];
            segment.get(BODY, found, 0, found.length);
            r.r2 = segment.getLong(TIMESTAMP) == 1 && Arrays.equals(found, PAYLOAD) ? 1 : -1;
        }
    }
}
