package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Micros;
import org.mmapqueue.support.Payload;

/** A queue with its consumers and its model in plain collections; both must agree after every step. */
final class QueueModel implements AutoCloseable {
    static final String DEFAULT = "default";
    private static final int MAX_IN_MEM = 6;
    private static final int LARGEST = 20_000;

    private final Setup setup;
    private final Limits limits;
    private final ModelTargets targets;
    private final Path deadLetters;
    private Path directory;
    private MmapQueue queue;
    private int copies;

    /** Every record that was pushed, by number. */
    private final List<byte[]> log = new ArrayList<>();

    private final TreeMap<String, ConsumerModel> consumers = new TreeMap<>();
    private final Map<String, Consumer> handles = new HashMap<>();
    private final List<byte[]> dead = new ArrayList<>();
    /** The number of the record with offset 0: 0 in version 2; the first one not committed at the open in version 1. */
    private int zero;

    private int firstSeen;

    /**
     * Configuration besides the setup.
     *
     * @param maxAttempts 0 for no limit
     * @param retainBytes 0 for no retention
     */
    record Limits(int maxUnacked, int maxAttempts, long retainBytes) {
        static final Limits NONE = new Limits(1_000_000, 0, 0);
    }

    QueueModel(Setup setup, Limits limits, Path temp) {
        this.setup = setup;
        this.limits = limits;
        this.targets = new ModelTargets(setup, this::queue, this::end);
        this.directory = temp.resolve("queue");
        this.deadLetters = temp.resolve("dead");
        if (limits.maxAttempts > 0) {
            // Large enough that it never fills.
            MmapQueue.open(QueueConfig.builder(deadLetters)
                            .segmentSize(4096)
                            .maxEventSize(LARGEST)
                            .build())
                    .close();
        }
        this.queue = open(false);
        if (!setup.isV1()) {
            assertEquals(List.of(), queue.consumers());
            queue.createConsumer(DEFAULT, StartAt.EARLIEST);
        }
        consumers.put(DEFAULT, new ConsumerModel(0, limits.maxUnacked, limits.maxAttempts));
        consumers.get(DEFAULT).close();
    }

    private MmapQueue open(boolean afterKill) {
        QueueConfig.Builder config = setup.config(directory)
                .maxInMemSegments(MAX_IN_MEM)
                .maxUnacked(limits.maxUnacked)
                .retainBytes(limits.retainBytes);
        if (limits.maxAttempts > 0) {
            config.maxAttempts(limits.maxAttempts).deadLetterDir(deadLetters);
        }
        return MmapQueue.open((afterKill && setup.isV1() ? config.v1Recover("writing") : config).build());
    }

    MmapQueue queue() {
        return queue;
    }

    private int end() {
        return log.size();
    }

    // ---- writing

    private byte[] payload(int length) {
        return Payload.of(log.size(), Math.min(length, setup.maxEvent));
    }

    void push(int length) {
        byte[] payload = payload(length);
        long offset;
        try {
            offset = queue.push(payload);
        } catch (FullException e) {
            assertHolds(setup.footprint(payload.length));
            return;
        }
        assertEquals(end() - zero, offset);
        log.add(payload);
    }

    void pushBatch(List<Integer> lengths) throws InterruptedException {
        List<byte[]> batch = new ArrayList<>();
        int before = end();
        int bytes = 0;
        for (int length : lengths) {
            batch.add(payload(length));
            bytes += setup.footprint(batch.get(batch.size() - 1).length);
            log.add(batch.get(batch.size() - 1));
        }
        if (bytes > setup.room()) {
            log.subList(before, end()).clear();
            return;
        }
        try {
            assertEquals(before - zero, queue.pushBatch(batch, Duration.ZERO));
        } catch (FullException e) {
            log.subList(before, end()).clear();
            assertHolds(bytes);
        }
    }

    // A push may throw Full only if the retained records and the pushed ones nearly fill the ring.
    private void assertHolds(long bytes) {
        for (byte[] held : log.subList(lowWatermark(), end())) {
            bytes += setup.footprint(held.length);
        }
        // A recovery may leave the rest of a segment unused.
        long wasted = (long) (2 + copies) * setup.segmentSize;
        assertTrue(bytes + wasted >= setup.room(), "full with " + bytes + " bytes of " + setup.room());
    }

    private int lowWatermark() {
        return consumers.values().stream()
                .mapToInt(ConsumerModel::committed)
                .min()
                .orElseThrow();
    }

    void flush() {
        queue.flush();
        assertEquals(queue.stats().writingPosition(), queue.stats().watermarkPosition());
        consumers.forEach(this::checkAcked);
    }

    // After a flush, which stores all acks; those out of order not in format version 1.
    private void checkAcked(String name, ConsumerModel model) {
        List<Integer> acked = new ArrayList<>();
        for (OffsetRange each : queue.ackedRanges(name)) {
            for (long offset = each.first(); offset < each.end(); offset++) {
                acked.add((int) offset);
            }
        }
        assertEquals(
                setup.isV1()
                        ? model.acked().subList(zero, model.committed()).stream()
                                .map(number -> number - zero)
                                .toList()
                        : model.acked(),
                acked,
                name);
    }

    void gc() {
        assertTrue(queue.gc() >= 0);
    }

    private String nameOf(int choice) {
        return new ArrayList<>(consumers.keySet()).get(choice % consumers.size());
    }

    /** The steps of a consumer, which is opened first if it is closed. */
    ConsumerSteps on(int choice) {
        String name = nameOf(choice);
        ConsumerModel model = consumers.get(name);
        if (!model.isOpen()) {
            // An existing consumer ignores the start.
            handles.put(name, queue.consumer(name, StartAt.LATEST));
            model.opened();
        }
        return stepsOf(name);
    }

    private ConsumerSteps stepsOf(String name) {
        return new ConsumerSteps(handles.get(name), consumers.get(name), log, zero, dead);
    }

    void seek(int choice, StartAt.Kind kind, int which) {
        ConsumerSteps steps = on(choice);
        Consumer consumer = handles.get(nameOf(choice));
        if (kind == StartAt.Kind.COMMITTED) {
            steps.seekCommitted();
        } else if (setup.isV1()) {
            assertThrows(ConfigException.class, () -> consumer.seek(targets.start(kind, which)));
        } else if (targets.isInRange(kind, which)) {
            int number = targets.numberOf(kind, which);
            consumer.seek(targets.start(kind, which));
            consumers.get(nameOf(choice)).moveTo(number);
        } else {
            assertThrows(OutOfRangeException.class, () -> consumer.seek(targets.start(kind, which)));
        }
    }

    private int first() {
        return targets.first();
    }

    // ---- reading without a consumer

    private void assertIs(int number, Message message) {
        assertEquals(number, message.offset());
        assertArrayEquals(log.get(number), message.data(), "record " + number);
        assertEquals(0, message.attempts());
    }

    void get(int which, int count) {
        if (setup.isV1()) {
            assertThrows(ConfigException.class, () -> queue.get(which));
            return;
        }
        int number = targets.pick(which);
        if (number < first() || number >= end()) {
            OutOfRangeException thrown = assertThrows(OutOfRangeException.class, () -> queue.getMany(number, count));
            assertEquals(first(), thrown.first());
            assertEquals(end() - 1, thrown.last());
            return;
        }
        assertIs(number, queue.get(number));
        List<Message> many = queue.getMany(number, count);
        assertEquals(Math.min(count, end() - number), many.size());
        for (int i = 0; i < many.size(); i++) {
            assertIs(number + i, many.get(i));
        }
    }

    void find(int which) {
        if (!setup.timestamps) {
            assertThrows(ConfigException.class, () -> queue.find(Micros.instant(which)));
            return;
        }
        long micros = targets.timeOf(which);
        assertEquals(
                targets.firstSince(micros), queue.find(Micros.instant(micros)).orElse(end()));
    }

    // ---- lifecycle of consumers

    void create(String name, StartAt.Kind kind, int which, boolean forOthers) {
        if (setup.isV1() && !name.equals(DEFAULT)) {
            assertThrows(ConfigException.class, () -> queue.createConsumer(name, StartAt.LATEST));
        } else if (consumers.containsKey(name)) {
            queue.createConsumer(name, StartAt.COMMITTED);
        } else if (kind == StartAt.Kind.COMMITTED) {
            assertThrows(ConfigException.class, () -> queue.createConsumer(name, StartAt.COMMITTED));
        } else if (!targets.isInRange(kind, which)) {
            assertThrows(OutOfRangeException.class, () -> queue.consumer(name, targets.start(kind, which)));
        } else {
            ConsumerModel model =
                    new ConsumerModel(targets.numberOf(kind, which), limits.maxUnacked, limits.maxAttempts);
            if (forOthers) {
                queue.createConsumer(name, targets.start(kind, which));
                model.close();
            } else {
                handles.put(name, queue.consumer(name, targets.start(kind, which)));
            }
            consumers.put(name, model);
        }
    }

    void delete(int choice) {
        String name = nameOf(choice);
        if (setup.isV1()) {
            assertThrows(ConfigException.class, () -> queue.deleteConsumer(name));
            return;
        }
        queue.deleteConsumer(name);
        if (consumers.size() > 1) {
            consumers.remove(name);
            return;
        }
        // The log is retained from the committed position of the last consumer on, where the next one starts.
        assertEquals(List.of(), queue.consumers());
        assertEquals(Optional.empty(), queue.stats().slowestConsumer());
        checkFirst();
        queue.createConsumer(name, StartAt.EARLIEST);
        consumers.put(name, new ConsumerModel(first(), limits.maxUnacked, limits.maxAttempts));
        consumers.get(name).close();
    }

    void closeConsumer(int choice) {
        String name = nameOf(choice);
        if (consumers.get(name).isOpen()) {
            handles.get(name).close();
            closed(consumers.get(name));
        }
    }

    private void closed(ConsumerModel model) {
        if (setup.isV1()) {
            model.kill(); // version 1 does not save records in flight
        } else {
            model.close();
        }
    }

    // ---- close, kill and reopen

    void reopen() {
        queue.close();
        consumers.values().forEach(this::closed);
        queue = open(false);
        zero = setup.isV1() ? consumers.get(DEFAULT).committed() : 0;
    }

    /** Replaces the queue by what a kill after a flush leaves; without one it may have the state of an earlier flush. */
    void abandon() {
        flush();
        Path copy = Directories.copy(directory, directory.resolveSibling("copy-" + copies++));
        queue.close();
        Directories.delete(directory);
        directory = copy;
        queue = open(true);
        consumers.values().forEach(setup.isV1() ? ConsumerModel::kill : ConsumerModel::killAfterFlush);
        zero = setup.isV1() ? consumers.get(DEFAULT).committed() : 0;
        if (setup.isV1()) {
            // The keys of one open must not apply to the next.
            reopen();
        }
    }

    /** Compares everything that can be read without a change. */
    void check() {
        assertEquals(end() - zero, queue.endOffset());
        List<String> names = consumers.keySet().stream().sorted().toList();
        assertEquals(names, queue.consumers());
        List<ConsumerStats> stats = queue.consumerStats();
        for (int i = 0; i < names.size(); i++) {
            ConsumerModel model = consumers.get(names.get(i));
            check(names.get(i), model, stats.get(i));
            if (model.isOpen()) {
                stepsOf(names.get(i)).check();
            }
        }
        if (!setup.isV1()) {
            checkFirst();
        }
    }

    private void check(String name, ConsumerModel model, ConsumerStats stats) {
        assertEquals(name, stats.name());
        assertEquals(model.committed() - zero, stats.committedOffset());
        assertEquals(model.isOpen() ? model.lag(end()) : end() - model.committed(), stats.lagRecords());
        assertEquals(stats.lagRecords() > 0, stats.lagBytes() > 0, stats.toString());
        if (model.isOpen()) {
            assertEquals(model.next() - zero, stats.readOffset());
            assertEquals(model.unacked(), stats.unacked());
        } else {
            // An abandoned process leaves its reading position.
            long read = stats.readOffset() + zero;
            assertTrue(model.next() <= read && read <= end(), stats.toString());
            assertEquals(read - model.committed(), stats.unacked());
        }
    }

    // Retention depends on segments, so only bounds are known; the log start never moves back.
    private void checkFirst() {
        int first = first();
        if (limits.retainBytes == 0) {
            assertEquals(lowWatermark(), first);
        }
        assertTrue(
                first >= firstSeen && first <= lowWatermark(),
                "first " + first + ", previously " + firstSeen + ", low watermark " + lowWatermark());
        firstSeen = first;
    }

    /** Pops and checks every remaining record, then closes the queue. */
    @Override
    public void close() {
        for (int choice = 0; choice < consumers.size(); choice++) {
            ConsumerSteps steps = on(choice);
            steps.ackAll();
            while (!steps.isAtEnd()) {
                steps.pop();
                steps.ackAll();
            }
            steps.pop();
        }
        check();
        assertTrue(queue.stats().peakMappedSegments() <= MAX_IN_MEM);
        queue.close();
        if (limits.maxAttempts > 0) {
            try (MmapQueue letters =
                    MmapQueue.open(QueueConfig.builder(deadLetters).build())) {
                Payload.assertMessages(0, dead, Payload.drain(letters));
            }
        }
    }
}
