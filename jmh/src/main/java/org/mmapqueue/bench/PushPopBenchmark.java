package org.mmapqueue.bench;

import org.openjdk.jmh.annotations.Benchmark;

/** One thread that pushes a record and pops it, over and over: SkyWalking Satellite's BenchmarkPushAndPop. */
public class PushPopBenchmark extends Course {

    /** One push and one pop for each record counted. */
    @Benchmark
    public void pushPop(Tally tally) {
        tally.begin();
        Idle idle = new Idle();
        for (int i = 0; i < records; i++) {
            push(writer, record, idle);
            pop(reader, idle);
            if (i % ACK_EVERY == ACK_EVERY - 1) {
                reader.ack();
            }
        }
        reader.ack();
        tally.end(records);
    }
}
