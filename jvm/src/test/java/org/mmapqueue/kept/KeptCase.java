package org.mmapqueue.kept;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.damage.Shape;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;

/**
 * The queues that are kept of each state of the format: together they have every file and every field. The payload of
 * offset n is {@link Payload#of} n. Each case is a directory with the queue in {@code queue}.
 */
enum KeptCase {
    CLEAN(Shape.CLEAN),
    KILLED(Shape.KILLED),
    WRAPPED(Shape.LAPPED),
    SPANNING(Shape.SPANNING),
    BATCHES(Shape.BATCHES),
    PLAIN(Shape.PLAIN),
    CONSUMERS(Shape.CONSUMERS),
    RECOVERED(Shape.RECOVERED),
    /** Nothing was ever pushed. */
    UNUSED((root, aside) -> MmapQueue.open(config(root).build()).close()),
    /** Acked records that retention keeps; consumers with labels, at different positions. */
    RETAINED(KeptCase::retained),
    /** Records in flight, delivered once and more often. */
    ATTEMPTS(KeptCase::attempts),
    /** Sequences of idempotent producers, with and without digests. */
    PRODUCERS((root, aside) -> producers(root.resolve("queue"))),
    /** The same, not closed. */
    PRODUCERS_KILLED(KeptCase::producersKilled),
    /** A consumer that lost records to max_consumer_lag. */
    DROPPED(KeptCase::dropped),
    /** The last consumer was deleted: the queue holds everything from its position on. */
    HELD(KeptCase::held),
    /** Free ring files were deleted. */
    COLLECTED(KeptCase::collected),
    /** Two damaged records became gaps. */
    REPAIRED(KeptCase::repaired),
    /** A queue, and in {@code dead} the one of its dead letters. */
    DEAD_LETTERS(KeptCase::deadLetters),
    /** A resize to twice the capacity, interrupted after its commit. */
    RESIZING(KeptCase::resizing);

    @FunctionalInterface
    private interface Making {
        void run(Path root, Path aside) throws Exception;
    }

    private final Making making;

    KeptCase(Making making) {
        this.making = making;
    }

    KeptCase(Shape shape) {
        this((root, aside) -> shape.make(root.resolve("queue"), aside));
    }

    String fileName() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * Makes the directory.
     *
     * @param root the new directory of the case
     * @param aside a directory for what is not kept; it does not exist
     */
    void make(Path root, Path aside) throws Exception {
        making.run(root, aside);
    }

    private static QueueConfig.Builder config(Path root) {
        return QueueConfig.builder(root.resolve("queue"))
                .segmentSize(Shape.SEGMENT)
                .queueCapacitySegments(Shape.CAPACITY)
                .maxInMemSegments(Shape.CAPACITY - 1)
                .maxEventSize(9_000)
                .flushPeriod(Duration.ofMinutes(10));
    }

    private static void push(MmapQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            long offset = queue.endOffset();
            queue.push(Payload.of(offset, (int) (offset * 37 % 300)));
        }
    }

    private static void popAndAck(Consumer consumer, int count) {
        List<Message> popped = consumer.pollBatch(count, Long.MAX_VALUE);
        consumer.ackUpTo(popped.get(popped.size() - 1).offset());
    }

    private static void retained(Path root, Path aside) {
        QueueConfig config = config(root)
                .retainBytes(3 * Shape.SEGMENT)
                .retain(Duration.ofDays(36_500))
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            Consumer first = queue.consumer("first", StartAt.EARLIEST);
            Consumer second = queue.consumer("second-1.0", StartAt.EARLIEST);
            first.label("reads first");
            second.label("… and second");
            for (int i = 0; i < 12; i++) {
                push(queue, 20);
                popAndAck(first, 20);
                popAndAck(second, i < 11 ? 20 : 8);
                queue.flush();
            }
        }
    }

    private static void attempts(Path root, Path aside) {
        try (MmapQueue queue = MmapQueue.open(config(root).build())) {
            push(queue, 40);
            Consumer consumer = queue.consumer("worker", StartAt.offset(5));
            consumer.pollBatch(20, Long.MAX_VALUE);
            for (long offset : new long[] {6, 9, 10}) {
                consumer.nack(offset);
                consumer.poll();
            }
            consumer.nack(6);
            consumer.poll();
            consumer.ack(new long[] {7, 8, 20});
            consumer.nack(12, Duration.ofDays(36_500)); // not due while this state is kept
        }
    }

    private static MmapQueue pushOnce(Path directory) throws InterruptedException {
        MmapQueue queue = MmapQueue.open(config(directory.getParent()).build());
        queue.createConsumer("reader", StartAt.EARLIEST);
        for (int sequence = 0; sequence < 9; sequence++) {
            List<byte[]> batch = new ArrayList<>();
            for (int i = 0; i <= sequence % 3; i++) {
                long offset = queue.endOffset() + i;
                batch.add(Payload.of(offset, (int) (offset * 29 % 200)));
            }
            Duration now = Duration.ZERO;
            if (sequence % 2 == 0) {
                queue.pushOnce("plain", sequence, batch, now);
            } else {
                BatchDigest digest = new BatchDigest(batch.size(), 0x1234_5678_9ABCL + sequence);
                queue.pushOnce("with-digests", sequence, digest, Records.of(batch), now, sequence == 3);
            }
        }
        return queue;
    }

    private static void producers(Path directory) throws InterruptedException {
        pushOnce(directory).close();
    }

    private static void producersKilled(Path root, Path aside) throws InterruptedException {
        try (MmapQueue queue = pushOnce(aside.resolve("queue"))) {
            Directories.copy(queue.config().queueDir(), root.resolve("queue"));
        }
    }

    private static void dropped(Path root, Path aside) {
        try (MmapQueue queue =
                MmapQueue.open(config(root).maxConsumerLag(2 * Shape.SEGMENT).build())) {
            queue.createConsumer("lagging", StartAt.EARLIEST);
            Consumer reader = queue.consumer("reader", StartAt.EARLIEST);
            for (int i = 0; i < 15; i++) {
                push(queue, 20);
                popAndAck(reader, 20);
                queue.flush();
            }
        }
    }

    private static void held(Path root, Path aside) {
        try (MmapQueue queue = MmapQueue.open(config(root).build())) {
            Consumer consumer = queue.consumer("gone", StartAt.EARLIEST);
            push(queue, 40);
            popAndAck(consumer, 25);
            queue.deleteConsumer("gone");
            push(queue, 10);
        }
    }

    private static void collected(Path root, Path aside) {
        try (MmapQueue queue = MmapQueue.open(config(root).build())) {
            Consumer consumer = queue.consumer();
            for (int i = 0; i < 10; i++) {
                push(queue, 20);
                popAndAck(consumer, 20);
                queue.flush();
            }
            push(queue, 3);
            queue.flush();
            queue.gc();
        }
    }

    private static void repaired(Path root, Path aside) {
        Shape.Made made = Shape.CLEAN.make(aside.resolve("damaged"), aside.resolve("unused"));
        Path file = made.path().resolve("0_segment.dat");
        List<Integer> positions = RecordPositions.of(file);
        Directories.flip(file, positions.get(3) + 20, 1);
        Directories.flip(file, positions.get(6) + 20, 1);
        Repairer.repair(made.path(), root.resolve("queue"), false, Progress.NONE);
    }

    private static void deadLetters(Path root, Path aside) {
        QueueConfig config =
                config(root).deadLetterDir(root.resolve("dead")).maxAttempts(2).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            push(queue, 10);
            Consumer consumer = queue.consumer();
            consumer.pollBatch(10, Long.MAX_VALUE);
            for (int delivery = 0; delivery < 2; delivery++) {
                consumer.nack(0);
                consumer.nack(1);
                consumer.pollBatch(2, Long.MAX_VALUE);
            }
            consumer.ackUpTo(4);
        }
    }

    private static void resizing(Path root, Path aside) throws Exception {
        Path queue =
                Shape.CLEAN.make(root.resolve("queue"), aside.resolve("unused")).path();
        Path copy = aside.resolve("copy");
        Copier.copy(queue, copy, new RingSize(2L * Shape.CAPACITY * Shape.SEGMENT, 0), Progress.NONE);
        Directories.copy(copy, queue.resolve("resize.ready"));
        Files.deleteIfExists(queue.resolve("resize.ready/producers"));
    }
}
