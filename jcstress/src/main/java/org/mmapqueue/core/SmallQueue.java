package org.mmapqueue.core;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.QueueStats;
import org.mmapqueue.Records;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.consume.QueueArchive;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.lookup.OpenFiles;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.MetaPageV2;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.stress.Memory;
import org.mmapqueue.stress.MemoryStorage;
import org.mmapqueue.swap.Scopes;
import org.mmapqueue.swap.Swapper;

/** A small queue with its default consumer and without threads, cheap enough to make one for each state. */
final class SmallQueue {
    /** {@link #poll} found no record. */
    static final int NOTHING = -1;

    /** The call threw {@code ClosedException}. */
    static final int CLOSED = -2;
    /** Length of a payload of which several fit into the first segment. */
    static final int INSIDE = 40;

    /** Length of a payload that continues in the next segment. */
    static final int SPANNING = 4100;

    private static final Path PATH = Path.of("none");
    private static final Settings SETTINGS = Settings.forNew(ConfigValues.of(PATH)
            .with(ConfigKey.SEGMENT_SIZE, 4096)
            .with(ConfigKey.QUEUE_CAPACITY_SEGMENTS, MemoryStorage.SEGMENTS)
            .with(ConfigKey.MAX_IN_MEM_SEGMENTS, MemoryStorage.SEGMENTS)
            .with(ConfigKey.MAX_EVENT_SIZE, SPANNING)
            .with(ConfigKey.FLUSH_PERIOD, 1000));
    private static final Geometry GEOMETRY = new Geometry(Format.V2, MemoryStorage.SEGMENT, MemoryStorage.SEGMENTS);
    private static final Settings SMALL = small();
    private static final MetaFields FIELDS =
            new MetaFields(2, MemoryStorage.SEGMENTS, MemoryStorage.SEGMENT, 1, 2, true, SETTINGS.maxEventSize(), 0, 1);
    private static final byte[] EMPTY =
            made(MetaPage.FILE_NAME, file -> MetaPageV2.create(DiskStorage.INSTANCE, file.getParent(), FIELDS));
    private static final byte[] CONSUMER =
            made("default.dat", file -> ConsumerPage.create(DiskStorage.INSTANCE, file, FIELDS, 0, 0));

    final QueueCore core;
    final ConsumerCore consumer;
    final MetaPage meta;
    final ConsumerCursors cursors;

    SmallQueue() {
        MemoryStorage storage = new MemoryStorage(EMPTY, CONSUMER);
        try {
            meta = MetaPageV2.open(storage, PATH);
            Registry registry = new Registry(storage, PATH, meta);
            cursors = registry.find("default");
            Consumers consumers = new Consumers(storage, SMALL, meta, registry);
            SegmentRing ring = new SegmentRing(storage, PATH, GEOMETRY);
            Swapper swapper = new Swapper(ring, MemoryStorage.SEGMENTS, true, new AtStart());
            core = new QueueCore(
                    new OpenFiles(PATH, SMALL, meta, ring, swapper, registry),
                    consumers,
                    null,
                    null,
                    new Recovered(begin(swapper), 0, 0));
            consumer = new ConsumerCore(
                    "default", cursors, core.log(), SMALL.delivery(), null, QueueArchive.NONE, () -> {});
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // One segment without records: in an empty directory, the first push would take the path of spanning records.
    private LogEnd begin(Swapper swapper) throws IOException {
        int start = GEOMETRY.dataStart();
        Segment first = swapper.enter(0);
        first.writeHeader(
                meta.fields().uuid(),
                meta.fields().capacity(),
                meta.fields().epoch(),
                0,
                System.currentTimeMillis() * 1000,
                start);
        swapper.unpin(first);
        meta.writing(start);
        return new LogEnd(start, 0, 0);
    }

    /** The swapper never asks: all segments may be mapped at once. */
    private static final class AtStart implements Scopes {
        @Override
        public long writing() {
            return 0;
        }

        @Override
        public long[] reading() {
            return new long[0];
        }
    }

    // Smaller than the ranges of the configuration keys allow.
    private static Settings small() {
        return new Settings(
                GEOMETRY,
                MemoryStorage.SEGMENTS,
                SETTINGS.flushPeriodMillis(),
                SETTINGS.flushCeilingNum(),
                SETTINGS.maxEventSize(),
                true,
                false,
                false,
                SETTINGS.delivery(),
                0,
                0,
                SETTINGS.retention(),
                0,
                SETTINGS.waiting(),
                SETTINGS.fileMode(),
                SETTINGS.archiving(),
                SETTINGS.given());
    }

    private interface Creation {
        void create(Path file) throws IOException;
    }

    // The bytes of a file that is made on the disk.
    private static byte[] made(String name, Creation creation) {
        Path file = Memory.directory().resolve(name);
        try {
            creation.create(file);
            byte[] bytes = Files.readAllBytes(file);
            Files.delete(file);
            Files.delete(file.getParent());
            return bytes;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The bytes of a record: each is the number plus 1. */
    static byte[] record(int number, int length) {
        byte[] record = new byte[length];
        Arrays.fill(record, (byte) (number + 1));
        return record;
    }

    /** Records 0 to count − 1. */
    static Records batch(int count, int length) {
        List<byte[]> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(record(i, length));
        }
        return Records.of(records);
    }

    /** Whether these are the bytes that {@link #record} makes. */
    static boolean isWhole(byte[] record, int number, int length) {
        if (record.length != length) {
            return false;
        }
        for (byte each : record) {
            if (each != number + 1) {
                return false;
            }
        }
        return true;
    }

    /** Pushes a record: its offset, or {@link #CLOSED}. */
    int push(byte[] record) {
        try {
            return (int) core.writer().push(record, 0, record.length);
        } catch (ClosedException e) {
            return CLOSED;
        }
    }

    /** Pops a record and checks its bytes: its number, {@link #NOTHING} or {@link #CLOSED}. */
    int poll(int length) {
        try {
            Message message = consumer.poll();
            return message == null ? NOTHING : numberOf(message, length);
        } catch (ClosedException e) {
            return CLOSED;
        }
    }

    /** Pops every record in one call and checks that they are numbered from 0 on; returns how many they were. */
    int pollBatch(int length) {
        int[] count = {0};
        consumer.poll(10, Long.MAX_VALUE, false, (offset, micros, buffer, from, size, attempts) -> {
            byte[] data = Arrays.copyOfRange(buffer, from, from + size);
            if (offset != count[0] || !isWhole(data, count[0], length)) {
                throw new IllegalStateException("wrong bytes at offset " + offset + " after " + count[0] + " records");
            }
            count[0]++;
        });
        return count[0];
    }

    /** Acks; false when the consumer is closed. */
    boolean ack(long offset) {
        try {
            consumer.ackUpTo(offset);
            return true;
        } catch (ClosedException e) {
            return false;
        }
    }

    /** Whether the statistics of the queue are consistent. */
    boolean isSound(QueueStats stats) {
        return stats.firstOffset() >= 0
                && stats.firstOffset() <= stats.endOffset()
                && stats.lowWatermark() <= stats.writingPosition()
                && stats.watermarkPosition() <= stats.writingPosition()
                && stats.segmentsInUse() >= 0
                && stats.segmentsInUse() <= stats.capacitySegments();
    }

    /**
     * Whether the statistics of a consumer are consistent. The queue does not own this one, as if another process had
     * opened it: for a moment it may be ahead of the end that the writer has stored.
     */
    boolean isSound(ConsumerStats stats) {
        return stats.lagRecords() >= 0
                && stats.lagBytes() >= 0
                && !stats.lagTime().orElse(Duration.ZERO).isNegative()
                && stats.unacked() >= 0
                && stats.committedOffset() <= stats.readOffset();
    }

    void closeConsumer() {
        try {
            consumer.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The offset that belongs to the stored committed position. */
    int storedCommitted() {
        return (int) core.log().offsetAt(cursors.committed());
    }

    private static int numberOf(Message message, int length) {
        int number = message.data()[0] - 1;
        if (number < 0 || !isWhole(message.data(), number, length)) {
            throw new IllegalStateException("wrong bytes at offset " + message.offset());
        }
        return number;
    }
}
