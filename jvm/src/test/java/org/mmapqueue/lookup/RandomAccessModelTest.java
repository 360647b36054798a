package org.mmapqueue.lookup;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tag;
import net.jqwik.api.Tuple;
import net.jqwik.api.lifecycle.AddLifecycleHook;
import org.mmapqueue.Setup;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.PropertySeed;
import org.mmapqueue.support.QuickDirectory;

/** After any sequence of calls, random access returns the records that a list has. */
@Tag("long-form")
@Tag("slow")
@AddLifecycleHook(PropertySeed.class)
class RandomAccessModelTest {
    private interface Step {
        void on(RandomReadQueue queue);
    }

    /** A step that prints itself, for the report of a failure. */
    private record Named(String name, Step step) {
        @Override
        public String toString() {
            return name;
        }
    }

    @Property(tries = 300, shrinking = ShrinkingMode.BOUNDED)
    void smallRecords(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_SMALL, steps);
    }

    @Property(tries = 300, shrinking = ShrinkingMode.BOUNDED)
    void recordsOverSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_RECORDS_OVER_SEGMENTS, steps);
    }

    @Property(tries = 300, shrinking = ShrinkingMode.BOUNDED)
    void aRingOfFiveSegments(@ForAll("steps") List<Named> steps) throws Exception {
        run(Setup.V2_FIVE_SEGMENTS, steps);
    }

    private static void run(Setup setup, List<Named> steps) throws IOException {
        Path temp = QuickDirectory.create();
        try (RandomReadQueue queue = new RandomReadQueue(temp.resolve("queue"), setup::config)) {
            for (Named each : steps) {
                try {
                    each.step().on(queue);
                } catch (FullException e) {
                    queue.ackBefore(queue.log.size());
                }
            }
            queue.assertAll();
        } finally {
            Directories.delete(temp);
        }
    }

    private static int chosen(RandomReadQueue queue, int choice) {
        int first = queue.first();
        return first + choice % Math.max(1, queue.log.size() - first);
    }

    private static void read(RandomReadQueue queue, int choice) {
        int number = chosen(queue, choice);
        if (number < queue.log.size()) {
            queue.assertRecord(number);
            queue.assertPosition(number);
        }
        queue.assertOutOfRange(queue.first() - 1L - choice, queue.first());
        queue.assertOutOfRange((long) queue.log.size() + choice, queue.first());
    }

    private static void readMany(RandomReadQueue queue, int choice, int count) {
        int number = chosen(queue, choice);
        if (number < queue.log.size()) {
            queue.assertRange(number, count, 1 + choice * 20L);
        }
    }

    private static void find(RandomReadQueue queue, int choice) {
        if (queue.timestamps()) {
            long time = queue.log.isEmpty()
                    ? choice
                    : queue.log.get(choice % queue.log.size()).timestampMicros();
            queue.assertFind(time + choice % 3 - 1);
        }
    }

    private static void ack(RandomReadQueue queue, int choice) {
        int acked = queue.acked();
        if (acked < queue.log.size()) {
            queue.ackBefore(acked + 1 + choice % (queue.log.size() - acked));
        }
    }

    @Provide
    Arbitrary<List<Named>> steps() {
        Arbitrary<Integer> choice = Arbitraries.integers().between(0, 1000);
        Arbitrary<Integer> length = Arbitraries.frequencyOf(
                Tuple.of(2, Arbitraries.integers().between(0, 40)),
                Tuple.of(3, Arbitraries.integers().between(0, 2000)),
                Tuple.of(1, Arbitraries.integers().between(2900, 3000)));
        Arbitrary<Named> push = length.map(bytes -> new Named("push " + bytes, queue -> queue.push(bytes)));
        Arbitrary<Named> pushLargest = Arbitraries.just(new Named(
                "push the largest", queue -> queue.push(queue.core().settings().maxEventSize())));
        Arbitrary<Named> pushBatch = length.list()
                .ofMinSize(1)
                .ofMaxSize(4)
                .map(lengths -> new Named("push batch " + lengths, queue -> queue.pushBatch(lengths)));
        Arbitrary<Named> step = Arbitraries.frequencyOf(
                Tuple.of(12, push),
                Tuple.of(2, pushLargest),
                Tuple.of(3, pushBatch),
                Tuple.of(8, choice.map(any -> new Named("read " + any, queue -> read(queue, any)))),
                Tuple.of(
                        4,
                        choice.flatMap(any -> Arbitraries.integers()
                                .between(1, 50)
                                .map(count -> new Named(
                                        "read " + count + " from " + any, queue -> readMany(queue, any, count))))),
                Tuple.of(6, choice.map(any -> new Named("find " + any, queue -> find(queue, any)))),
                Tuple.of(4, choice.map(any -> new Named("ack " + any, queue -> ack(queue, any)))),
                Tuple.of(
                        1,
                        Arbitraries.of(true, false)
                                .map(stamps ->
                                        new Named("reopen, timestamps " + stamps, queue -> queue.reopen(stamps)))),
                Tuple.of(1, Arbitraries.just(new Named("abandon", RandomReadQueue::abandon))));
        return step.list().ofMinSize(1).ofMaxSize(120);
    }
}
