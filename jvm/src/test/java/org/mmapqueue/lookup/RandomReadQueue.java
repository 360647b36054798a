package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/** A queue with a random-access reader, and the list of pushed records as its reference. */
final class RandomReadQueue implements RandomAccessReader.Source, AutoCloseable {
    private static final int SEGMENT = 4096;

    /** Log start that the reader sees; null for the committed position of the default consumer. */
    Long head;
    /** Log end that the reader sees; null for that of the queue. */
    Long end;
    /** Every record that was pushed, by offset. */
    final List<Message> log = new ArrayList<>();
    /** The position after which each record begins, and last the log end. */
    final List<Long> begins = new ArrayList<>(List.of(0L));
    /** The positions of the records' headers: a pad may be before one. */
    private final List<Long> starts = new ArrayList<>();

    private Path directory;
    private final Function<Path, QueueConfig.Builder> config;
    private Boolean timestamps;
    private QueueCore core;
    private ConsumerCore consumer;
    private LogReaderV2 reader;
    private RandomAccessReader randomAccess;
    private int copies;

    RandomReadQueue(Path directory, Function<Path, QueueConfig.Builder> config) {
        this.directory = directory;
        this.config = config;
        open();
    }

    /** A new queue with segments of 4 KiB and the smallest max_in_mem_segments. */
    static RandomReadQueue open(Path temp, int capacity, boolean timestamps) {
        return new RandomReadQueue(
                temp.resolve("queue"),
                at -> QueueConfig.builder(at)
                        .segmentSize(SEGMENT)
                        .queueCapacitySegments(capacity)
                        .maxInMemSegments(4)
                        .maxEventSize(20_000)
                        .timestamps(timestamps)
                        .flushPeriod(Duration.ofMinutes(10)));
    }

    private void open() {
        QueueConfig.Builder builder = config.apply(directory);
        if (timestamps != null) {
            builder.timestamps(timestamps);
        }
        core = Cores.open(builder.build(), DiskStorage.INSTANCE);
        consumer = core.consumer("default", StartAt.EARLIEST);
        reader = (LogReaderV2) core.log().reader();
        randomAccess = new RandomAccessReader(reader, this);
        while (consumer.readOffset() < log.size()) {
            consumer.poll();
        }
    }

    @Override
    public long head() {
        return head != null ? head : core.stats().lowWatermark();
    }

    @Override
    public long reclaimed() {
        return core.stats().lowWatermark();
    }

    @Override
    public long end() {
        return end != null ? end : core.stats().writingPosition();
    }

    @Override
    public boolean timestamps() {
        return core.settings().timestamps();
    }

    RandomAccessReader randomAccess() {
        return randomAccess;
    }

    QueueCore core() {
        return core;
    }

    Path directory() {
        return directory;
    }

    /** The offset of the first record that is not acked. */
    int acked() {
        return (int) consumer.committedOffset();
    }

    // ---- steps

    void push(int length) {
        byte[] data = Payload.of(log.size(), length);
        assertEquals(log.size(), core.writer().push(data, 0, length));
        pushed();
    }

    void pushBatch(List<Integer> lengths) {
        List<byte[]> batch = new ArrayList<>();
        for (int length : lengths) {
            batch.add(Payload.of(log.size() + batch.size(), length));
        }
        core.writer().push(Records.of(batch));
        pushed();
    }

    /** Pushes small records, spanning ones, and ones that end, or end their header, exactly with a segment. */
    void pushMixed(int count, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int stamp = 8;
        for (int i = 0; i < count; i++) {
            int left = (int) (SEGMENT - end() % SEGMENT) % SEGMENT;
            int exact = left - 8 - stamp;
            if (i % 10 == 9 && exact >= 0) {
                push(exact);
            } else if (i % 10 == 4 && exact >= 16 + stamp) {
                push(exact - 8);
                push(100);
            } else {
                push(i % 17 == 0 ? 4000 + random.nextInt(9000) : random.nextInt(400));
            }
        }
    }

    // Positions come from a sequential reader, timestamps from the consumer.
    private void pushed() {
        LogReader walker = core.log().reader();
        try {
            walker.moveTo(begins.get(log.size()));
            for (Message message = consumer.poll(); message != null; message = consumer.poll()) {
                log.add(message);
                walker.next();
                starts.add(walker.position());
                walker.skip();
                walker.advance();
                begins.add(walker.position());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            walker.leave();
        }
    }

    /** Acks all records before this one. */
    void ackBefore(int number) {
        core.ackUpTo(consumer, number - 1L);
    }

    void reopen() {
        core.close();
        open();
    }

    void reopen(boolean withTimestamps) {
        timestamps = withTimestamps;
        reopen();
    }

    /** Replaces the queue by what a kill at this moment leaves. */
    void abandon() {
        Path copy = Directories.copy(directory, directory.resolveSibling("copy-" + copies++));
        core.close();
        Directories.delete(directory);
        directory = copy;
        open();
    }

    /** Another reader, without indexes. */
    RandomAccessReader fresh() {
        return new RandomAccessReader((LogReaderV2) core.log().reader(), this);
    }

    // ---- assertions

    /** The expected first offset. */
    int first() {
        int number = 0;
        while (number < log.size() && starts.get(number) < head()) {
            number++;
        }
        return number;
    }

    void assertRecord(int number) {
        assertMessage(number, randomAccess.get(number, 1, Long.MAX_VALUE).get(0));
        assertHoldsNothing();
    }

    void assertMessage(int number, Message found) {
        assertEquals(number, found.offset());
        assertArrayEquals(log.get(number).data(), found.data(), "bytes of record " + number);
        assertEquals(log.get(number).timestampMicros(), found.timestampMicros(), "time of record " + number);
        assertEquals(0, found.attempts());
    }

    void assertRange(int number, int count, long maxBytes) {
        List<Message> found = randomAccess.get(number, count, maxBytes);
        int expected = 0;
        long bytes = 0;
        while (expected < count && number + expected < log.size()) {
            bytes += log.get(number + expected).data().length;
            if (expected > 0 && bytes > maxBytes) {
                break;
            }
            expected++;
        }
        assertEquals(expected, found.size());
        for (int i = 0; i < expected; i++) {
            assertMessage(number + i, found.get(i));
        }
        assertHoldsNothing();
    }

    void assertPosition(int number) {
        assertPosition(number, randomAccess.locate(number));
    }

    private void assertPosition(int number, RandomAccessReader.OffsetPosition located) {
        assertEquals(number, located.offset());
        assertEquals(number, randomAccess.offsetAt(located.position()));
        LogReader walker = core.log().reader();
        try {
            // A sequential reader moved there reads this record.
            walker.moveTo(located.position());
            assertEquals(number < log.size(), walker.next());
            if (number < log.size()) {
                byte[] data = new byte[walker.length()];
                walker.read(data, 0);
                assertArrayEquals(log.get(number).data(), data, "record " + number);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            walker.leave();
        }
    }

    void assertOutOfRange(long number, int first) {
        OutOfRangeException thrown =
                assertThrows(OutOfRangeException.class, () -> randomAccess.get(number, 1, Long.MAX_VALUE));
        assertEquals(number, thrown.requested());
        assertEquals(first, thrown.first());
        assertEquals(log.size() - 1L, thrown.last());
        if (number != log.size()) {
            assertThrows(OutOfRangeException.class, () -> randomAccess.locate(number));
        }
        assertHoldsNothing();
    }

    void assertFind(long micros) {
        long newest = 0;
        int expected = 0;
        while (expected < log.size()) {
            newest = Math.max(newest, log.get(expected).timestampMicros());
            if (newest >= micros && expected >= first()) {
                break;
            }
            expected++;
        }
        assertEquals(
                expected < log.size() ? OptionalLong.of(expected) : OptionalLong.empty(),
                randomAccess.find(micros),
                "the first record of time " + micros);
        assertPosition(expected, randomAccess.locateTime(micros));
        assertHoldsNothing();
    }

    /** Checks every record, every position, and the offsets around the range. */
    void assertAll() {
        int first = first();
        assertEquals(first, randomAccess.firstOffset());
        assertEquals(log.size(), randomAccess.endOffset());
        for (int i = 0; i < log.size() - first; i++) {
            // From both ends in turn, so that indexes are read before they are complete.
            assertRecord(i % 2 == 0 ? first + i / 2 : log.size() - 1 - i / 2);
        }
        for (int i = first; i <= log.size(); i++) {
            assertPosition(i);
        }
        assertOutOfRange(-1, first);
        assertOutOfRange(first - 1L, first);
        assertOutOfRange(log.size(), first);
        assertOutOfRange(log.size() + 1L, first);
        assertOutOfRange(Long.MAX_VALUE, first);
        assertOutOfRange(Long.MIN_VALUE, first);
    }

    private void assertHoldsNothing() {
        assertNull(reader.segment(), "pinned between calls");
    }

    @Override
    public void close() {
        randomAccess.close();
        core.close();
    }
}
