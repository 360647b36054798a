package org.mmapqueue.queue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tuple;

/** Any sequence of calls leaves a queue and a plain list in the same state. */
class QueueModelProperties {
    private interface Step {
        void on(QueueModel model) throws InterruptedException;
    }

    /** A step that prints itself, for the report of a failure. */
    private record Named(String name, Step step) {
        @Override
        public String toString() {
            return name;
        }
    }

    @Property(tries = 400, shrinking = ShrinkingMode.BOUNDED)
    void smallRecords(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_SMALL, steps);
    }

    @Property(tries = 400, shrinking = ShrinkingMode.BOUNDED)
    void recordsOverSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_RECORDS_OVER_SEGMENTS, steps);
    }

    @Property(tries = 400, shrinking = ShrinkingMode.BOUNDED)
    void aRingOfFiveSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_FIVE_SEGMENTS, steps);
    }

    @Property(tries = 400, shrinking = ShrinkingMode.BOUNDED)
    void version1(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V1_RECORDS_OVER_SEGMENTS, steps);
    }

    @Property(tries = 400, shrinking = ShrinkingMode.BOUNDED)
    void version1InFiveSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V1_FIVE_SEGMENTS, steps);
    }

    private static void run(Setup setup, List<Named> steps) throws IOException, InterruptedException {
        Path temp = QuickDirectory.create();
        QueueModel model = new QueueModel(setup, temp.resolve("queue"));
        try {
            for (Named each : steps) {
                each.step().on(model);
            }
            model.close();
        } finally {
            model.queue().close();
            Directories.delete(temp);
        }
    }

    @Provide
    Arbitrary<List<Named>> steps() {
        Arbitrary<Integer> length = Arbitraries.frequencyOf(
                Tuple.of(2, Arbitraries.integers().between(0, 40)),
                Tuple.of(3, Arbitraries.integers().between(0, 2000)),
                Tuple.of(1, Arbitraries.integers().between(3900, 4200)),
                Tuple.of(1, Arbitraries.integers().between(0, 20_000)));
        Arbitrary<Named> push = length.map(bytes -> new Named("push " + bytes, model -> model.push(bytes)));
        Arbitrary<Named> pushBatch = length.list().ofMinSize(1).ofMaxSize(8)
                .map(lengths -> new Named("push batch " + lengths, model -> model.pushBatch(lengths)));
        Arbitrary<Named> popBatch = Arbitraries.integers().between(1, 30)
                .flatMap(records -> Arbitraries.integers().between(1, 30_000).map(bytes -> new Named(
                        "pop " + records + " records, " + bytes + " bytes", model -> model.popBatch(records, bytes))));
        Arbitrary<Named> ack = Arbitraries.integers().between(0, 1000)
                .map(choice -> new Named("ack " + choice, model -> model.ack(choice)));
        Arbitrary<Named> step = Arbitraries.frequencyOf(
                Tuple.of(12, push),
                Tuple.of(4, pushBatch),
                Tuple.of(6, Arbitraries.just(new Named("pop", QueueModel::pop))),
                Tuple.of(6, popBatch),
                Tuple.of(2, Arbitraries.just(new Named("peek", QueueModel::peek))),
                Tuple.of(4, ack),
                Tuple.of(3, Arbitraries.just(new Named("ack all", QueueModel::ackAll))),
                Tuple.of(1, Arbitraries.just(new Named("flush", QueueModel::flush))),
                Tuple.of(1, Arbitraries.just(new Named("reopen", QueueModel::reopen))),
                Tuple.of(1, Arbitraries.just(new Named("abandon", QueueModel::abandon))));
        return step.list().ofMinSize(1).ofMaxSize(150);
    }
}
