package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/**
 * One bit of a cursor is flipped. Every call returns or throws a typed exception after a bounded number of steps: no
 * loop runs to a position that the ring cannot hold. The system property faults.step is the distance of the bits; each
 * word begins with another one.
 */
@Tag("long-form")
@Tag("slow")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FlippedCursorTest {
    private static final int STEP = Integer.getInteger("faults.step", 5);
    private static final int SEGMENT = 4096;
    private static final int SEGMENTS = 8;
    private static final int RECORDS = 40;
    /** Far more than a search opens, and far less than the steps to a position with a flipped high bit. */
    private static final int MOST_OPENED = 600;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path made;
    private Path queue;

    @BeforeEach
    void make() throws Exception {
        made = temp.resolve("made");
        queue = temp.resolve("queue");
        try (MmapQueue open = MmapQueue.open(QueueConfig.builder(made)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(SEGMENTS)
                .maxEventSize(1000)
                .build())) {
            Consumer named = open.consumer("named", StartAt.EARLIEST);
            open.createConsumer("default", StartAt.EARLIEST);
            // The ring has wrapped.
            for (int i = 0; i < RECORDS; i++) {
                open.push(new byte[900]);
                if (i < RECORDS - 12) {
                    named.ackUpTo(named.poll().offset());
                    open.consumer().ackUpTo(open.consumer().poll().offset());
                }
            }
            named.poll();
        }
        Directories.copy(made, queue);
    }

    private void flip(String file, int at, int bit) throws Exception {
        restore();
        flipInPlace(file, at, bit);
    }

    private void flipInPlace(String file, int at, int bit) throws Exception {
        Directories.flip(queue.resolve(file), at + bit / 8, 1 << bit % 8);
    }

    private void restore() throws Exception {
        try (var files = Files.walk(made)) {
            for (Path each : files.filter(Files::isRegularFile).toList()) {
                String name = made.relativize(each).toString();
                if (!name.endsWith("lock")) {
                    Files.copy(each, queue.resolve(name), StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
    }

    private interface Call {
        void run() throws Exception;
    }

    /** A storage that counts what is opened, and ends the test where a loop does not end. */
    private static final class Counted {
        private final FaultyStorage storage = new FaultyStorage();
        private int opened;

        Counted() {
            storage.failWhen((call, path) -> {
                if (call == FaultyStorage.Call.OPEN && ++opened > MOST_OPENED) {
                    throw new AssertionError("opened " + opened + " files, and goes on with " + path.getFileName());
                }
                return false;
            });
        }

        void call(String what, Call call) {
            opened = 0;
            try {
                call.run();
            } catch (MmapQueueException e) {
                // A typed error is right, as is a value: the bit may make no difference.
            } catch (Exception | AssertionError e) {
                throw new AssertionError(what + ": " + e, e);
            }
        }
    }

    private void read(String what, boolean skips, Call afterOpen) throws Exception {
        Counted counted = new Counted();
        QueueConfig config = QueueConfig.builder(queue)
                .readOnly(true)
                .onDamage(skips ? "skip" : "error")
                .build();
        QueueCore[] core = {null};
        counted.call(what + " open", () -> core[0] = Cores.open(config, counted.storage));
        if (core[0] == null) {
            return;
        }
        try {
            afterOpen.run();
            counted.call(what + " read_at", () -> core[0].log().randomAccess().get(RECORDS - 2, 1, 1000));
            counted.call(
                    what + " find",
                    () -> core[0].log().randomAccess().find(Instant.now().toEpochMilli() * 1000 - 1_000_000));
            counted.call(what + " first", () -> core[0].log().firstOffset());
            counted.call(what + " first known", () -> core[0].log().firstKnownOffset());
            counted.call(what + " end", () -> core[0].endOffset());
            counted.call(what + " durable", () -> core[0].log().durableOffset());
            counted.call(what + " bytes", () -> core[0].log().randomAccess().bytes(RECORDS - 4, RECORDS - 1));
            counted.call(what + " split", () -> core[0].log().randomAccess().split(RECORDS - 4, RECORDS - 1, 2000));
            counted.call(what + " stats", () -> core[0].stats());
            counted.call(what + " consumer stats", () -> core[0].consumerStats());
            counted.call(what + " full", () -> core[0].isFull());
            counted.call(what + " range", () -> {
                try (var range = core[0].log().reader(RECORDS - 10, RECORDS, skips, () -> false)) {
                    range.read(100, 100_000, false, (offset, timestamp, data, start, length, attempts) -> {});
                }
            });
            for (String name : List.of("named", "default", "new")) {
                counted.call(what + " pop " + name, () -> {
                    ConsumerCore consumer = core[0].consumer(name, StartAt.EARLIEST);
                    for (int i = 0; i < RECORDS && core[0].poll(consumer) != null; i++) {
                        core[0].ackUpTo(consumer, consumer.readOffset() - 1);
                    }
                });
            }
        } finally {
            counted.call(what + " close", () -> core[0].close());
        }
    }

    private void write(String what, Call afterOpen) throws Exception {
        Counted counted = new Counted();
        QueueConfig config = QueueConfig.builder(queue)
                .maxConsumerLag(2 * SEGMENT)
                .maxAge(Duration.ofHours(1))
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        QueueCore[] core = {null};
        counted.call(what + " open to write", () -> core[0] = Cores.open(config, counted.storage));
        if (core[0] == null) {
            return;
        }
        try {
            afterOpen.run();
            counted.call(what + " push", () -> core[0].writer().push(new byte[900], 0, 900));
            counted.call(what + " age", () -> core[0].writer().dropAged());
            counted.call(what + " gc", () -> core[0].writer().gc());
            counted.call(what + " flush", () -> core[0].writer().flush());
            counted.call(
                    what + " housekeeper", () -> core[0].writer().housekeeper().step());
        } finally {
            counted.call(what + " close", () -> core[0].close());
        }
    }

    private static List<Integer> words(String file) {
        List<Integer> words = new ArrayList<>();
        if (file.equals("meta.dat")) {
            for (int at = 0; at < 152; at += 8) {
                words.add(at);
            }
            words.addAll(List.of(256, 264, 272, 280, 512, 576, 832, 840, 848, 896, 912, 960, 968));
        } else {
            words.addAll(List.of(0, 8, 16, 24, 32, 128, 192, 256, 264, 512));
        }
        return words;
    }

    @ParameterizedTest
    @ValueSource(strings = {"meta.dat", "consumers/named.dat"})
    void everyCallEnds(String file) throws Exception {
        for (int at : words(file)) {
            for (int bit = at / 8 % STEP; bit < 64; bit += STEP) {
                String what = file + ", byte " + at + ", bit " + bit + ":";
                flip(file, at, bit);
                read(what, bit % 2 == 0, () -> {});
                flip(file, at, bit);
                try {
                    Verifier.verify(queue, Progress.NONE);
                } catch (MmapQueueException e) {
                    // A typed error is right.
                }
                write(what, () -> {});
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"meta.dat", "consumers/named.dat"})
    void everyCallOfAnOpenHandleEnds(String file) throws Exception {
        for (int at : words(file)) {
            for (int bit = at / 8 % STEP; bit < 64; bit += STEP) {
                String what = file + " of an open queue, byte " + at + ", bit " + bit + ":";
                int flipped = bit;
                restore();
                read(what, bit % 2 == 0, () -> flipInPlace(file, at, flipped));
                restore();
                write(what, () -> flipInPlace(file, at, flipped));
            }
        }
    }

    /** The error names the page and the field, not a segment that the ring cannot hold. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anImpossibleCursorIsNamed(boolean isOpen) throws Exception {
        Map<Integer, String> fields = new TreeMap<>(Map.of(512, "writing", 832, "reclaimed"));
        for (Map.Entry<Integer, String> each : fields.entrySet()) {
            for (int bit : new int[] {20, 38, 50, 63}) {
                restore();
                Call flip = () -> flipInPlace("meta.dat", each.getKey(), bit);
                if (!isOpen) {
                    flip.run();
                }
                try (MmapQueue open = MmapQueue.openToRead(queue)) {
                    if (isOpen) {
                        open.get(RECORDS - 2);
                        flip.run();
                    }
                    for (Call call : List.<Call>of(
                            () -> open.get(RECORDS - 2),
                            () -> open.find(Instant.now()),
                            open::firstOffset,
                            open::stats,
                            () -> open.consumer("new", StartAt.EARLIEST))) {
                        CorruptException error = assertThrows(CorruptException.class, call::run);
                        assertEquals(queue.resolve("meta.dat").toString(), error.file(), error.getMessage());
                        assertEquals((int) each.getKey(), error.position(), error.getMessage());
                        assertTrue(error.getMessage().contains(each.getValue() + " is "), error.getMessage());
                    }
                }
            }
        }
    }
}
