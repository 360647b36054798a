package org.mmapqueue.crash;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;

/** Opens what a killed process has left, and compares all of it with the model. */
final class Verifier {
    private static final int PIECE = 500;

    private final QueueConfig config;
    private final int version;
    private final Model model;

    Verifier(QueueConfig config, int version, Model model) {
        this.config = config;
        this.version = version;
        this.model = model;
    }

    static Verifier of(Plan plan, Path directory, Model model) {
        return new Verifier(plan.config(directory), plan.version(), model);
    }

    /** Checks a copy: the directory itself stays as the kill has left it. What recovery has made must stay so, too. */
    void checkCopy() throws InterruptedException {
        List<Long> committed = check(null);
        try (MmapQueue queue = MmapQueue.open(config)) {
            if (version == 2) {
                expect(model.end(), queue.endOffset(), "the end after a clean close");
                for (int i = 0; i < committed.size(); i++) {
                    String name = queue.consumers().get(i);
                    try (Consumer consumer = queue.consumer(name, StartAt.EARLIEST)) {
                        expect(
                                committed.get(i),
                                consumer.committedOffset(),
                                "what " + name + " has committed, after a" + " clean close,");
                    }
                }
            }
            checkAgain(queue);
            continues(queue);
        }
    }

    // What was pushed once can be tried again.
    private void checkAgain(MmapQueue queue) throws InterruptedException {
        for (Map.Entry<Long, Long> each : model.sequences().entrySet()) {
            byte[] data = new Numbered(0, 1, 0).bytes(16);
            expect(
                    -1,
                    queue.pushOnce(OnceModel.name(each.getKey()), each.getValue(), List.of(data), Duration.ZERO),
                    "the offset of sequence " + each.getValue() + " of " + OnceModel.name(each.getKey()));
        }
    }

    private void continues(MmapQueue queue) {
        long end = queue.endOffset();
        byte[] data = new Numbered(0, 1, 0).bytes(16);
        try {
            expect(end, queue.push(data), "the offset of the next push");
            if (version == 2) {
                Numbered.of(end, queue.get(end).data());
            }
        } catch (FullException e) {
            // Consumers hold all of it.
        }
    }

    private static void expect(long expected, long found, String what) {
        if (expected != found) {
            throw new CrashError(what + " is " + found + ", expected " + expected);
        }
    }

    /** Checks the directory itself, and acks some of what is there. */
    void checkInPlace(SplittableRandom random) throws InterruptedException {
        check(random);
        model.checkedInPlace();
    }

    private List<Long> check(SplittableRandom random) throws InterruptedException {
        model.ended();
        try (MmapQueue queue = MmapQueue.open(config)) {
            if (version == 1) {
                checkVersion1(queue, random);
                return List.of();
            }
            checkLog(queue);
            return checkConsumers(queue, random);
        }
    }

    private void checkLog(MmapQueue queue) {
        long first = queue.firstOffset();
        long end = queue.endOffset();
        List<Numbered> records = new ArrayList<>();
        for (long offset = first; offset < end; offset = first + records.size()) {
            for (Message message : queue.getMany(offset, PIECE)) {
                expect(first + records.size(), message.offset(), "the offset of a record");
                records.add(Numbered.of(message.offset(), message.data()));
            }
        }
        model.checkLog(first, records);
        model.checkProducers(first, producer -> queue.lastSequence(OnceModel.name(producer)));
    }

    private List<Long> checkConsumers(MmapQueue queue, SplittableRandom random) throws InterruptedException {
        List<String> names = queue.consumers();
        List<Long> committed = new ArrayList<>();
        for (int i = 0; i < Plan.NAMES.size(); i++) {
            if (!names.contains(Plan.NAMES.get(i))) {
                model.consumer(i).settleAbsent();
            }
        }
        for (String name : names) {
            int index = Plan.NAMES.indexOf(name);
            if (index < 0) {
                throw new CrashError("there is a consumer " + name + ", which nobody has made");
            }
            try (Consumer consumer = queue.consumer(name, StartAt.EARLIEST)) {
                committed.add(consumer.committedOffset());
                ConsumerModel expected = model.consumer(index);
                expected.settle(consumer.committedOffset(), model.end());
                List<Long> offsets = drain(consumer);
                expected.checkDrained(offsets, model.end());
                if (random != null) {
                    expected.checkedInPlace(offsets, ackSome(consumer, offsets, random));
                }
            }
        }
        return committed;
    }

    private List<Long> drain(Consumer consumer) throws InterruptedException {
        List<Long> offsets = new ArrayList<>();
        int count = 1;
        while (count > 0) {
            count = consumer.popBatch(
                    PIECE, 1 << 20, Duration.ZERO, (offset, timestamp, buffer, start, length, attempts) -> {
                        byte[] data = Arrays.copyOfRange(buffer, start, start + length);
                        model.learn(offset, Numbered.of(offset, data).key());
                        offsets.add(offset);
                    });
        }
        return offsets;
    }

    private static long ackSome(Consumer consumer, List<Long> offsets, SplittableRandom random) {
        if (offsets.isEmpty() || random.nextInt(3) == 0) {
            return 0;
        }
        long last = offsets.get(random.nextInt(offsets.size()));
        consumer.ack(last);
        return last + 1;
    }

    // Offsets are counted from the first record that is not acked.
    private void checkVersion1(MmapQueue queue, SplittableRandom random) throws InterruptedException {
        List<Numbered> records = new ArrayList<>();
        List<Long> offsets = new ArrayList<>();
        Consumer consumer = queue.consumer();
        while (true) {
            List<Message> batch = consumer.popBatch(PIECE, 1 << 20, Duration.ZERO);
            if (batch.isEmpty()) {
                break;
            }
            for (Message message : batch) {
                expect(records.size(), message.offset(), "the offset of a record");
                records.add(Numbered.of(message.offset(), message.data()));
            }
        }
        long base = base(records);
        model.checkLog(base, records);
        for (int i = 0; i < records.size(); i++) {
            offsets.add(base + i);
        }
        model.consumer(0).settle(base, model.end());
        model.consumer(0).checkDrained(offsets, model.end());
        if (random != null && !records.isEmpty()) {
            int last = random.nextInt(records.size());
            consumer.ack(last);
            model.consumer(0).checkedInPlace(offsets, base + last + 1);
        }
    }

    private long base(List<Numbered> records) {
        for (int i = 0; i < records.size(); i++) {
            long base = model.baseOf(records.get(i).key(), i);
            if (base >= 0) {
                return base;
            }
        }
        return model.end(); // all that was known has been acked
    }
}
