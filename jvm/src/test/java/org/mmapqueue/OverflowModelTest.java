package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.PropertySeed;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/**
 * A ring that overflows into its archive, with consumers in it and behind it, against one model: any order of pushes,
 * pops, acks, nacks, seeks, closes, crashes, repairs, resizes and openings to read delivers each record as a queue that never fills would.
 * The system properties archive.rounds and property.seed set the number of sequences, and their seeds.
 */
@Tag("long-form")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OverflowModelTest {
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final int STEPS = 120;
    private static final List<String> NAMES = List.of("a", "b");

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** What a consumer has to get. */
    private static final class Model {
        /** Deliveries of the records that were popped and not acked. */
        final TreeMap<Long, Integer> attempts = new TreeMap<>();
        /** Those of them with one delivery, which a kill forgets if there is nothing else to save. */
        final TreeSet<Long> unsure = new TreeSet<>();
        /** Those of them that are to be delivered again. */
        final TreeSet<Long> again = new TreeSet<>();

        long next;

        long committed() {
            return attempts.isEmpty() ? next : attempts.firstKey();
        }

        void seek(long offset) {
            attempts.clear();
            unsure.clear();
            again.clear();
            next = offset;
        }

        void popped(Message message) {
            boolean isAgain = !again.isEmpty();
            long expected = isAgain ? again.pollFirst() : next++;
            assertEquals(expected, message.offset());
            if (unsure.remove(expected) && message.attempts() == 1) {
                attempts.remove(expected);
            }
            assertEquals(attempts.merge(expected, 1, Integer::sum), message.attempts(), "attempts of " + expected);
        }

        void ack(long offset) {
            attempts.remove(offset);
            unsure.remove(offset);
            again.remove(offset);
        }

        void killed() {
            attempts.forEach((offset, times) -> {
                if (times == 1) {
                    unsure.add(offset);
                }
            });
        }

        void closed() {
            again.addAll(attempts.keySet());
        }
    }

    private final Map<String, Model> models = new HashMap<>();
    private final Map<String, Consumer> consumers = new HashMap<>();
    private SplittableRandom random;
    private int segments = 8;
    private long end;
    private MmapQueue queue;
    private MmapQueue reading;
    private final List<String> steps = new ArrayList<>();

    static LongStream seeds() {
        return PropertySeed.seeds(Integer.getInteger("archive.rounds", 8));
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyConsumerGetsEveryRecordAsFromAQueueThatNeverFills(long seed) throws Exception {
        random = new SplittableRandom(seed);
        NAMES.forEach(name -> models.put(name, new Model()));
        try {
            open();
            for (int i = 0; i < STEPS; i++) {
                step();
            }
            for (String name : NAMES) {
                finish(name);
            }
        } catch (Throwable e) {
            throw new AssertionError("seed " + seed + ", after " + steps, e);
        } finally {
            close();
        }
    }

    private void step() throws Exception {
        String name = NAMES.get(random.nextInt(NAMES.size()));
        switch (random.nextInt(23)) {
            case 0, 1, 2, 3 -> push(1 + random.nextInt(200));
            case 4, 5, 6, 7, 8 -> pop(name, 1 + random.nextInt(120));
            case 9, 10 -> ackSome(name);
            case 11 -> ackAll(name);
            case 12, 13 -> nack(name);
            case 14 -> seek(name);
            case 15 -> {
                steps.add("reopen");
                close();
                open();
            }
            case 16 -> resize();
            case 17 -> statistics(name);
            case 18 -> move(name);
            case 19, 20 -> crash();
            case 21 -> repair();
            default -> peek(name);
        }
    }

    private void open() throws InterruptedException {
        queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(segments)
                .maxInMemSegments(6)
                .maxEventSize(3000)
                .flushPeriod(Duration.ofMillis(5))
                .archiveUri(temp.resolve("archive").toUri())
                .shipPeriod(Duration.ofMillis(2))
                .overflow("archive")
                .build());
        NAMES.forEach(this::openConsumer);
    }

    private void openConsumer(String name) {
        consumers.put(name, queue.consumer(name, StartAt.EARLIEST));
    }

    private void close() throws IOException {
        if (reading != null) {
            reading.close();
            reading = null;
        }
        if (queue != null) {
            queue.close();
            queue = null;
            models.values().forEach(Model::closed);
        }
    }

    private static byte[] payload(long offset) {
        byte[] data = new byte[(int) (offset * 7919 % (offset % 11 == 0 ? 2900 : 300))];
        Arrays.fill(data, (byte) offset);
        return data;
    }

    private void push(int count) throws InterruptedException {
        steps.add("push " + count);
        for (int i = 0; i < count; i++) {
            assertEquals(end, queue.push(payload(end), LONG));
            end++;
        }
    }

    private List<Message> pop(String name, int count) throws InterruptedException {
        steps.add(name + " pops " + count);
        Model model = models.get(name);
        List<Message> all = new ArrayList<>();
        while (all.size() < count && (model.next < end || !model.again.isEmpty())) {
            if (random.nextBoolean()) {
                all.add(checked(model, consumers.get(name).pop(LONG)));
            } else {
                for (Message each : consumers.get(name).pollBatch(1 + random.nextInt(50), Long.MAX_VALUE)) {
                    all.add(checked(model, each));
                }
            }
        }
        if (all.size() < count) {
            assertNull(consumers.get(name).poll());
        }
        return all;
    }

    private static Message checked(Model model, Message message) {
        model.popped(message);
        assertArrayEquals(payload(message.offset()), message.data());
        return message;
    }

    private long anyPopped(Model model) {
        List<Long> all = new ArrayList<>(model.attempts.keySet());
        return all.isEmpty() ? -1 : all.get(random.nextInt(all.size()));
    }

    private void ackSome(String name) {
        for (int i = random.nextInt(20); i >= 0; i--) {
            long offset = anyPopped(models.get(name));
            if (offset >= 0 && !models.get(name).again.contains(offset)) {
                steps.add(name + " acks " + offset);
                consumers.get(name).ack(offset);
                models.get(name).ack(offset);
            }
        }
        assertCommitted(name);
    }

    private void ackAll(String name) {
        Model model = models.get(name);
        long offset = anyPopped(model);
        // After a reopen, records that were popped before are not popped again yet.
        if (offset >= 0 && model.again.headSet(offset, true).isEmpty()) {
            steps.add(name + " acks up to " + offset);
            consumers.get(name).ackUpTo(offset);
            List.copyOf(model.attempts.headMap(offset, true).keySet()).forEach(model::ack);
        }
        assertCommitted(name);
    }

    private void nack(String name) {
        Model model = models.get(name);
        long offset = anyPopped(model);
        if (offset >= 0 && !model.again.contains(offset)) {
            steps.add(name + " nacks " + offset);
            consumers.get(name).nack(offset);
            model.again.add(offset);
        }
    }

    private void assertCommitted(String name) {
        assertEquals(models.get(name).committed(), consumers.get(name).committedOffset(), "committed by " + name);
    }

    private void seek(String name) {
        long first = random.nextBoolean() ? queue.firstOffset() : 0;
        long to = first + random.nextLong(end - first + 1);
        steps.add(name + " seeks " + to);
        consumers.get(name).seek(StartAt.offset(to));
        models.get(name).seek(to);
        assertCommitted(name);
    }

    private void peek(String name) {
        Model model = models.get(name);
        Message next = consumers.get(name).peek();
        if (next == null) {
            assertTrue(model.again.isEmpty() && model.next == end, name + " has nothing to peek at");
        } else {
            assertEquals(model.again.isEmpty() ? model.next : model.again.first(), next.offset());
        }
    }

    // The consumer goes on in a queue that was opened to read, or back.
    private void move(String name) {
        boolean reads = random.nextBoolean();
        steps.add(name + " moves to the " + (reads ? "reading" : "writing") + " queue");
        consumers.get(name).close();
        models.get(name).closed();
        if (!reads) {
            openConsumer(name);
            return;
        }
        if (reading == null) {
            reading = MmapQueue.openToRead(temp.resolve("queue"));
        }
        consumers.put(name, reading.consumer(name, StartAt.COMMITTED));
    }

    private void statistics(String name) {
        ConsumerStats stats = queue.consumerStats().stream()
                .filter(each -> each.name().equals(name))
                .findFirst()
                .orElseThrow();
        Model model = models.get(name);
        assertEquals(model.committed(), stats.committedOffset(), stats.toString());
        assertTrue(stats.archivedRecords() <= stats.lagRecords(), stats.toString());
        assertTrue(
                stats.archivedRecords() == 0 || stats.committedOffset() < queue.firstOffset(),
                stats + " in a ring that begins at " + queue.firstOffset());
    }

    private void resize() throws IOException, InterruptedException {
        int wanted = 4 + random.nextInt(12);
        steps.add("resize to " + wanted);
        close();
        long room = 4096L * wanted;
        try {
            Copier.resize(temp.resolve("queue"), new RingSize(room, 4096), Progress.NONE);
            segments = wanted;
        } catch (org.mmapqueue.errors.ConfigException e) {
            assertTrue(e.getMessage().contains("capacity"), e.toString());
        }
        assertTrue(Verifier.verify(temp.resolve("queue"), Progress.NONE).isWhole());
        open();
    }

    // The process is killed, with its page cache kept. What is in flight is known as far as it was saved.
    private void crash() throws Exception {
        // Else it would claim the partition after the copy, which no killed process does.
        Waiting.until(
                "the shipper begins", () -> queue.shipStats().orElseThrow().hasBegun());
        boolean isSaved = random.nextBoolean();
        steps.add(isSaved ? "crash after a flush" : "crash with nothing in flight");
        if (isSaved) {
            queue.flush();
        } else {
            for (String name : NAMES) {
                Model model = models.get(name);
                pop(name, model.again.size());
                if (!model.attempts.isEmpty()) {
                    consumers.get(name).peek(); // passes what was acked before a reopen, once the archive is read
                    consumers.get(name).ackUpTo(model.next - 1);
                    List.copyOf(model.attempts.keySet()).forEach(model::ack);
                }
            }
        }
        Path directory = temp.resolve("queue");
        Path killed = temp.resolve("killed");
        Map<String, String> before;
        do { // until the threads of the queue rest: a kill stops all of them at once
            if (Files.exists(killed)) {
                Directories.delete(killed);
            }
            before = Directories.fingerprint(directory);
            Directories.copyOpen(directory, killed, 4096);
        } while (!before.equals(Directories.fingerprint(directory)));
        close();
        models.values().forEach(Model::killed);
        Directories.delete(directory);
        Files.move(killed, directory);
        open();
        NAMES.forEach(this::assertCommitted);
    }

    private void repair() throws Exception {
        steps.add("repair");
        close();
        assertEquals(
                List.of(),
                Repairer.repairInPlace(temp.resolve("queue"), false, Progress.NONE)
                        .lost());
        assertTrue(Verifier.verify(temp.resolve("queue"), Progress.NONE).isWhole());
        open();
    }

    private void finish(String name) throws InterruptedException {
        for (Message each : pop(name, Integer.MAX_VALUE)) {
            consumers.get(name).ack(each);
            models.get(name).ack(each.offset());
        }
        if (!models.get(name).attempts.isEmpty()) {
            consumers.get(name).ackUpTo(end - 1);
        }
        assertEquals(end, consumers.get(name).committedOffset());
    }
}
