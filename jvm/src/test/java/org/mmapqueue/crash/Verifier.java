package org.mmapqueue.crash;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.harness.ReferenceReader;
import org.mmapqueue.harness.TestRecord;
import org.mmapqueue.harness.Violation;
import org.mmapqueue.support.Directories;

/** Opens the directory that a killed process has left, and compares it with the model. */
final class Verifier {
    private static final int BATCH = 500;
    private static final byte[] NEW_RECORD = new TestRecord(0, 1, 0).bytes(16);

    private final QueueConfig config;
    private final int version;
    private final Model model;

    private Verifier(Plan plan, Path directory, Model model) {
        this.config = plan.config(directory);
        this.version = plan.version();
        this.model = model;
    }

    /** Checks a copy, so that the directory stays as the kill has left it; deletes the copy. */
    static void checkCopy(Plan plan, Path directory, Path copy, Model model) throws InterruptedException {
        try {
            new Verifier(plan, Directories.copy(directory, copy), model).checkTwice();
        } finally {
            if (Files.exists(copy)) {
                Directories.delete(copy);
            }
        }
    }

    /** Checks the directory itself, and acks some of its records. */
    static void checkDirectly(Plan plan, Path directory, Model model, SplittableRandom random)
            throws InterruptedException {
        new Verifier(plan, directory, model).check(random);
    }

    // The second open, after a clean close, must find what the first one has found.
    private void checkTwice() throws InterruptedException {
        List<Long> committed = check(null);
        try (MmapQueue queue = MmapQueue.open(config)) {
            if (version == 2) {
                expect(model.end(), queue.endOffset(), "the log end after a clean close");
                for (int i = 0; i < committed.size(); i++) {
                    String name = queue.consumers().get(i);
                    try (Consumer consumer = queue.consumer(name, StartAt.EARLIEST)) {
                        expect(
                                committed.get(i),
                                consumer.committedOffset(),
                                "the committed offset of " + name + " after a clean close");
                    }
                }
            }
            checkRetries(queue);
            checkPush(queue);
        }
    }

    private void checkRetries(MmapQueue queue) throws InterruptedException {
        for (Map.Entry<Long, Long> each : model.sequences().entrySet()) {
            String name = ProducerModel.name(each.getKey());
            expect(
                    -1,
                    queue.pushOnce(name, each.getValue(), List.of(NEW_RECORD), Duration.ZERO)
                            .orElse(-1),
                    "the offset of sequence " + each.getValue() + " of " + name + ", pushed again,");
        }
    }

    private void checkPush(MmapQueue queue) {
        long end = queue.endOffset();
        try {
            expect(end, queue.push(NEW_RECORD), "the offset of the next push");
            if (version == 2) {
                TestRecord.of(queue.get(end));
            }
        } catch (FullException e) {
            // Consumers retain all of it.
        }
    }

    private static void expect(long expected, long found, String what) {
        Violation.unless(expected == found, "%s is %d, expected %d", what, found, expected);
    }

    private List<Long> check(SplittableRandom random) throws InterruptedException {
        Optional<ReferenceReader.Found> before = secondOpinion();
        List<Long> committed;
        try (MmapQueue queue = MmapQueue.open(config)) {
            if (version == 1) {
                checkVersion1(queue, random);
                return List.of();
            }
            before.ifPresent(found -> compare("before a recovery", found, queue));
            checkLog(queue);
            committed = checkConsumers(queue, random);
        }
        Optional<ReferenceReader.Found> after = secondOpinion();
        if (after.isPresent()) {
            // Without recovery, and without moving a consumer.
            try (MmapQueue queue = MmapQueue.open(config)) {
                compare("after a close", after.get(), queue);
            }
        }
        return committed;
    }

    // Reads what no process changes, by the page of the format alone; nothing without python3.
    private Optional<ReferenceReader.Found> secondOpinion() {
        Path directory = config.queueDir();
        boolean readable = version == 2 && Files.exists(directory.resolve("meta.dat"));
        return readable ? ReferenceReader.read(directory) : Optional.empty();
    }

    private static void compare(String when, ReferenceReader.Found found, MmapQueue queue) {
        found.check(when, queue.firstOffset(), queue.endOffset(), offset -> queue.getMany(offset, BATCH));
    }

    private void checkLog(MmapQueue queue) {
        long first = queue.firstOffset();
        model.checkLog(first, TestRecord.readAll(first, queue.endOffset(), offset -> queue.getMany(offset, BATCH)));
        model.checkProducers(first, producer -> queue.lastSequence(ProducerModel.name(producer)));
    }

    private List<Long> checkConsumers(MmapQueue queue, SplittableRandom random) throws InterruptedException {
        List<String> names = queue.consumers();
        List<Long> committed = new ArrayList<>();
        for (int i = 0; i < Plan.NAMES.size(); i++) {
            if (!names.contains(Plan.NAMES.get(i))) {
                model.consumer(i).checkAbsent();
            }
        }
        for (String name : names) {
            int index = Plan.NAMES.indexOf(name);
            Violation.unless(index >= 0, "consumer %s exists, and was never created", name);
            try (Consumer consumer = queue.consumer(name, StartAt.EARLIEST)) {
                committed.add(consumer.committedOffset());
                ConsumerModel expected = model.consumer(index);
                expected.checkFound(consumer.committedOffset(), model.end());
                List<Long> offsets = new ArrayList<>();
                for (Message message : drain(consumer)) {
                    model.learn(message.offset(), TestRecord.of(message));
                    offsets.add(message.offset());
                }
                expected.checkDrained(offsets, model.end());
                if (random != null) {
                    expected.checkedDirectly(offsets, ackSome(consumer, offsets, random));
                }
            }
        }
        return committed;
    }

    private static List<Message> drain(Consumer consumer) throws InterruptedException {
        List<Message> all = new ArrayList<>();
        int before = -1;
        while (all.size() > before) {
            before = all.size();
            all.addAll(consumer.popBatch(BATCH, 1 << 20, Duration.ZERO));
        }
        return all;
    }

    // Returns the offset after the last acked record, or 0.
    private static long ackSome(Consumer consumer, List<Long> offsets, SplittableRandom random) {
        if (offsets.isEmpty() || random.nextInt(3) == 0) {
            return 0;
        }
        long last = offsets.get(random.nextInt(offsets.size()));
        consumer.ackUpTo(last);
        return last + 1;
    }

    // Version 1 counts offsets from the first record that is not acked.
    private void checkVersion1(MmapQueue queue, SplittableRandom random) throws InterruptedException {
        Consumer consumer = queue.consumer();
        List<Message> messages = drain(consumer);
        List<TestRecord> records =
                TestRecord.readAll(0, messages.size(), offset -> messages.subList((int) offset, messages.size()));
        long base = model.baseOf(records);
        model.checkLog(base, records);
        List<Long> offsets = new ArrayList<>();
        for (int i = 0; i < records.size(); i++) {
            offsets.add(base + i);
        }
        model.consumer(0).checkFound(base, model.end());
        model.consumer(0).checkDrained(offsets, model.end());
        if (random != null && !records.isEmpty()) {
            int last = random.nextInt(records.size());
            consumer.ackUpTo(last);
            model.consumer(0).checkedDirectly(offsets, base + last + 1);
        }
    }
}
