package org.mmapqueue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tag;
import net.jqwik.api.Tuple;
import net.jqwik.api.lifecycle.AddLifecycleHook;
import org.mmapqueue.QueueModel.Limits;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.PropertySeed;
import org.mmapqueue.support.QuickDirectory;

/**
 * Any sequence of calls leaves a queue and its model in the same state. The system property jqwik.tries.default sets
 * the number of sequences.
 */
@Tag("long-form")
@AddLifecycleHook(PropertySeed.class)
class QueueModelTest {
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

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void smallRecords(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_SMALL, Limits.NONE, steps);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void recordsOverSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_RECORDS_OVER_SEGMENTS, Limits.NONE, steps);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void aRingOfFiveSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_FIVE_SEGMENTS, Limits.NONE, steps);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void fewUnacked(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_SMALL, new Limits(9, 0, 0), steps);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void deadLetters(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_RECORDS_OVER_SEGMENTS, new Limits(12, 2, 0), steps);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void retention(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_RECORDS_OVER_SEGMENTS, new Limits(1000, 0, 40_000), steps);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void version1(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V1_RECORDS_OVER_SEGMENTS, Limits.NONE, steps);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void version1InFiveSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V1_FIVE_SEGMENTS, new Limits(30, 3, 0), steps);
    }

    private static void run(Setup setup, Limits limits, List<Named> steps) throws IOException, InterruptedException {
        Path temp = QuickDirectory.create();
        QueueModel model = new QueueModel(setup, limits, temp);
        try {
            model.check();
            for (Named each : steps) {
                each.step().on(model);
                model.check();
            }
            model.close();
        } finally {
            model.queue().close();
            Directories.delete(temp);
        }
    }

    @Provide
    Arbitrary<List<Named>> steps() {
        Arbitrary<Named> step = Arbitraries.frequencyOf(
                Tuple.of(16, writing()),
                Tuple.of(26, consuming()),
                Tuple.of(3, reading()),
                Tuple.of(4, consumers()),
                Tuple.of(3, theQueue()));
        return step.list().ofMinSize(1).ofMaxSize(150);
    }

    private static Named named(String name, Step step) {
        return new Named(name, step);
    }

    private static Arbitrary<Integer> choice() {
        return Arbitraries.integers().between(0, 1000);
    }

    private static Arbitrary<Integer> consumer() {
        return Arbitraries.integers().between(0, 5);
    }

    private static Arbitrary<StartAt.Kind> kind() {
        return Arbitraries.of(
                StartAt.Kind.EARLIEST,
                StartAt.Kind.LATEST,
                StartAt.Kind.COMMITTED,
                StartAt.Kind.OFFSET,
                StartAt.Kind.OFFSET);
    }

    private static Arbitrary<Named> writing() {
        Arbitrary<Integer> length = Arbitraries.frequencyOf(
                Tuple.of(2, Arbitraries.integers().between(0, 40)),
                Tuple.of(3, Arbitraries.integers().between(0, 2000)),
                Tuple.of(1, Arbitraries.integers().between(3900, 4200)),
                Tuple.of(1, Arbitraries.integers().between(0, 20_000)));
        return Arbitraries.frequencyOf(
                Tuple.of(3, length.map(bytes -> named("push " + bytes, model -> model.push(bytes)))),
                Tuple.of(
                        1,
                        length.list()
                                .ofMinSize(1)
                                .ofMaxSize(8)
                                .map(lengths -> named("push batch " + lengths, model -> model.pushBatch(lengths)))));
    }

    private static Arbitrary<Named> consuming() {
        Arbitrary<Named> popBatch = Combinators.combine(
                        consumer(),
                        Arbitraries.integers().between(1, 30),
                        Arbitraries.integers().between(1, 30_000))
                .as((consumer, records, bytes) -> named(
                        consumer + " pops " + records + " records, " + bytes + " bytes",
                        model -> model.on(consumer).popBatch(records, bytes)));
        return Arbitraries.frequencyOf(
                Tuple.of(
                        6,
                        consumer()
                                .map(consumer -> named(
                                        consumer + " pops",
                                        model -> model.on(consumer).pop()))),
                Tuple.of(6, popBatch),
                Tuple.of(
                        2,
                        consumer()
                                .map(consumer -> named(
                                        consumer + " peeks",
                                        model -> model.on(consumer).peek()))),
                Tuple.of(
                        3,
                        Combinators.combine(consumer(), choice())
                                .as((consumer, which) -> named(
                                        consumer + " acks " + which,
                                        model -> model.on(consumer).ack(which)))),
                Tuple.of(
                        3,
                        consumer()
                                .map(consumer -> named(
                                        consumer + " acks all",
                                        model -> model.on(consumer).ackAll()))),
                Tuple.of(
                        4,
                        Combinators.combine(
                                        consumer(), choice().list().ofMinSize(1).ofMaxSize(5))
                                .as((consumer, which) -> named(
                                        consumer + " acks single " + which,
                                        model -> model.on(consumer).ackSingle(which)))),
                Tuple.of(
                        5,
                        Combinators.combine(consumer(), choice())
                                .as((consumer, which) -> named(
                                        consumer + " nacks " + which,
                                        model -> model.on(consumer).nack(which)))),
                Tuple.of(
                        2,
                        Combinators.combine(consumer(), kind(), choice())
                                .as((consumer, kind, which) -> named(
                                        consumer + " seeks " + kind + " " + which,
                                        model -> model.seek(consumer, kind, which)))));
    }

    private static Arbitrary<Named> reading() {
        return Arbitraries.frequencyOf(
                Tuple.of(
                        2,
                        Combinators.combine(choice(), Arbitraries.integers().between(1, 40))
                                .as((which, count) ->
                                        named("get " + which + ", " + count, model -> model.get(which, count)))),
                Tuple.of(1, choice().map(which -> named("find " + which, model -> model.find(which)))));
    }

    private static Arbitrary<Named> consumers() {
        Arbitrary<String> name = Arbitraries.of("a", "b", QueueModel.DEFAULT);
        return Arbitraries.frequencyOf(
                Tuple.of(
                        4,
                        Combinators.combine(name, kind(), choice(), Arbitraries.of(true, false))
                                .as((consumer, kind, which, forOthers) -> named(
                                        "create " + consumer + " " + kind + " " + which + " " + forOthers,
                                        model -> model.create(consumer, kind, which, forOthers)))),
                Tuple.of(1, consumer().map(consumer -> named("delete " + consumer, model -> model.delete(consumer)))),
                Tuple.of(
                        2,
                        consumer()
                                .map(consumer -> named(consumer + " closes", model -> model.closeConsumer(consumer)))));
    }

    private static Arbitrary<Named> theQueue() {
        return Arbitraries.of(
                named("flush", QueueModel::flush),
                named("gc", QueueModel::gc),
                named("reopen", QueueModel::reopen),
                named("abandon", QueueModel::abandon));
    }
}
