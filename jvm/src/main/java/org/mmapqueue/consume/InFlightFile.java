package org.mmapqueue.consume;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.OffsetRange;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.RecordDescriptor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The snapshot of a consumer's in-flight records, consumers/&lt;name&gt;.inflight: what the committed position alone does
 * not say (decision 201). The owner writes it at a flush and at a close. Records before the committed position of a later
 * open are skipped. Recovery cuts records beyond the log end, because those offsets are assigned to new records.
 */
public record InFlightFile(Storage storage, Path path, MetaFields queue) {
    private static final Logger LOG = LoggerFactory.getLogger(InFlightFile.class);
    /** The maximum number of runs of a snapshot at a flush: 1 MiB. */
    static final int MOST_RUNS = 1 << 16;
    /** The maximum number of runs of a snapshot at a close: as many as an array can hold. */
    static final int ALL_RUNS = Integer.MAX_VALUE / InFlightDescriptor.RUN_BYTES - InFlightDescriptor.RUNS;

    private static final int FIRST_RUNS = 16;

    /**
     * An image of the table.
     *
     * @param first the offset of the record at the committed position: the table may begin later, after acks that are not
     *     committed
     * @param reading the position after the last popped record
     * @param time the wall clock, in ms
     * @param most the maximum number of runs, if no range of acked records follows; the records after these are left out
     */
    ByteBuffer image(InFlight inFlight, long first, long reading, long time, int most) {
        ByteBuffer image = image(inFlight, first, inFlight.end(), most);
        long end = InFlightDescriptor.end(image);
        if (end > inFlight.next() && end < inFlight.end()) {
            image = image(inFlight, first, inFlight.next(), most); // the positions after that are not known
            end = InFlightDescriptor.end(image);
        }
        long position = reading;
        if (end != inFlight.next()) {
            position = end < inFlight.next() ? inFlight.position(end) : inFlight.endPosition();
        }
        image.putLong(0, InFlightDescriptor.MAGIC);
        image.putLong(InFlightDescriptor.UUID_LOW, queue.uuidLow());
        image.putLong(InFlightDescriptor.READING, position);
        image.putLong(InFlightDescriptor.TIME, time);
        return finished(image);
    }

    private static ByteBuffer image(InFlight inFlight, long first, long end, int most) {
        ByteBuffer image = ByteBuffer.allocate(InFlightDescriptor.RUNS + FIRST_RUNS * InFlightDescriptor.RUN_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
        int run = InFlightDescriptor.RUNS;
        int count = 0;
        long offset = first;
        while (offset < end) {
            if (count++ >= most && inFlight.rowFrom(offset) == offset) { // other records have no position
                break;
            }
            int times = inFlight.times(offset);
            long delay = inFlight.delay(offset);
            long last = Math.min(end, offset + Integer.MAX_VALUE);
            long after = after(inFlight, offset);
            while (after < last && inFlight.times(after) == times && inFlight.delay(after) == delay) {
                after = after(inFlight, after);
            }
            int same = (int) (Math.min(after, last) - offset);
            if (run == image.capacity()) {
                image = ByteBuffer.allocate(grown(run))
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .put(image.clear());
            }
            image.putInt(run + InFlightDescriptor.RUN_RECORDS, same);
            image.putInt(run + InFlightDescriptor.RUN_ATTEMPTS, times);
            image.putLong(run + InFlightDescriptor.RUN_DELAY, delay);
            run += InFlightDescriptor.RUN_BYTES;
            offset += same;
        }
        image.putLong(InFlightDescriptor.FIRST, first);
        return image.clear().limit(run);
    }

    /** The size of an image in place of one that is full: twice as many bytes, and at most those of all runs. */
    static int grown(int bytes) {
        long most = InFlightDescriptor.RUNS + (ALL_RUNS + 1L) * InFlightDescriptor.RUN_BYTES; // one may follow the last
        return (int) Math.min(2L * bytes, most);
    }

    private static long after(InFlight inFlight, long offset) {
        return Math.max(offset + 1, inFlight.rowFrom(offset));
    }

    private static ByteBuffer finished(ByteBuffer image) {
        int runs = (image.limit() - InFlightDescriptor.RUNS) / InFlightDescriptor.RUN_BYTES;
        image.putInt(InFlightDescriptor.COUNT, runs);
        return image.putInt(InFlightDescriptor.CHECKSUM, InFlightDescriptor.checksum(image));
    }

    /** Replaces the file, durably. */
    void write(ByteBuffer image) throws IOException {
        NewFile.write(storage, path, image.rewind());
    }

    /** The image of an intact file; null for a missing, damaged or foreign one, whose records are redelivered. */
    ByteBuffer read() throws IOException {
        ByteBuffer image = load();
        return image != null && isWhole(image) && areSound(image) ? image : null;
    }

    /**
     * Adds the records of an image from {@code first} on to an empty table. A delay ends when it would have ended, by the
     * wall clock; at the latest after its own length, if the clock was set back.
     *
     * @param time the wall clock, in ms
     */
    static void restore(ByteBuffer image, long first, long time, InFlight inFlight) {
        long passed = Math.max(0, time - image.getLong(InFlightDescriptor.TIME));
        long offset = image.getLong(InFlightDescriptor.FIRST);
        for (int at = InFlightDescriptor.RUNS; at < image.limit(); at += InFlightDescriptor.RUN_BYTES) {
            long end = offset + image.getInt(at + InFlightDescriptor.RUN_RECORDS);
            int times = image.getInt(at + InFlightDescriptor.RUN_ATTEMPTS);
            long delay = Math.max(0, image.getLong(at + InFlightDescriptor.RUN_DELAY) - passed);
            if (end > first) {
                inFlight.restore(times, delay, end - Math.max(offset, first));
            }
            offset = end;
        }
        inFlight.endAt(image.getLong(InFlightDescriptor.READING));
    }

    /**
     * The acked records of a consumer, in ascending order; no range is empty, and none begins where another ends.
     *
     * @param image the consumer's records in flight; null for none
     * @param committed the offset before which all records are acked. As at an open, an image that begins after it does
     *     not count: the consumer was moved since
     * @param end the offset of the log end
     */
    public static List<OffsetRange> acked(ByteBuffer image, long committed, long end) {
        List<OffsetRange> ranges = new ArrayList<>();
        long from = 0;
        long to = committed;
        if (image != null && image.getLong(InFlightDescriptor.FIRST) <= committed) {
            long offset = image.getLong(InFlightDescriptor.FIRST);
            for (int at = InFlightDescriptor.RUNS; at < image.limit(); at += InFlightDescriptor.RUN_BYTES) {
                long first = offset;
                offset += image.getInt(at + InFlightDescriptor.RUN_RECORDS);
                long last = Math.min(offset, end);
                if (image.getInt(at + InFlightDescriptor.RUN_ATTEMPTS) == InFlightDescriptor.ACKED && last > to) {
                    if (first > to) {
                        add(from, to, ranges);
                        from = first;
                    }
                    to = last;
                }
            }
        }
        add(from, to, ranges);
        return ranges;
    }

    private static void add(long first, long end, List<OffsetRange> ranges) {
        if (first < end) {
            ranges.add(new OffsetRange(first, end));
        }
    }

    /**
     * Durably removes the records beyond the log end from the files of all consumers. Must be called before new records
     * get these offsets.
     */
    public static void cutAfter(LogEnd end, Storage storage, Path consumersDirectory, MetaFields queue)
            throws IOException {
        if (!Files.isDirectory(consumersDirectory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        for (Path each :
                Listing.of(consumersDirectory, InFlightDescriptor.SUFFIX).values()) {
            InFlightFile file = new InFlightFile(storage, each, queue);
            ByteBuffer image = file.read();
            // A damaged file is ignored anyway.
            if (image != null
                    && (InFlightDescriptor.end(image) > end.nextOffset()
                            || image.getLong(InFlightDescriptor.READING) > end.position())) {
                file.cut(image, end);
            }
        }
    }

    private void cut(ByteBuffer image, LogEnd end) throws IOException {
        long offset = image.getLong(InFlightDescriptor.FIRST);
        int at = InFlightDescriptor.RUNS;
        while (at < image.limit() && offset < end.nextOffset()) {
            long left = end.nextOffset() - offset;
            int records = (int) Math.min(left, image.getInt(at + InFlightDescriptor.RUN_RECORDS));
            image.putInt(at + InFlightDescriptor.RUN_RECORDS, records);
            offset += records;
            at += InFlightDescriptor.RUN_BYTES;
        }
        if (at == InFlightDescriptor.RUNS || offset < end.nextOffset()) {
            delete(); // no record is left, or the numbers contradict the log
            return;
        }
        image.limit(at);
        image.putLong(InFlightDescriptor.READING, end.position());
        write(finished(image));
    }

    private boolean areSound(ByteBuffer image) {
        Mismatch fault = InFlightDescriptor.runFault(image, InFlightDescriptor.mostRecords(image, mostRecords()));
        if (fault != null) {
            LOG.warn("{} is ignored, and its records are redelivered: {}", path, fault);
        }
        return fault == null;
    }

    private long mostRecords() {
        return (long) queue.capacity() * queue.segmentSize() / RecordDescriptor.SMALLEST;
    }

    private boolean isWhole(ByteBuffer image) {
        return image.limit() >= InFlightDescriptor.RUNS
                && image.getLong(0) == InFlightDescriptor.MAGIC
                && image.getInt(InFlightDescriptor.CHECKSUM) == InFlightDescriptor.checksum(image)
                && image.getLong(InFlightDescriptor.UUID_LOW) == queue.uuidLow()
                && image.getLong(InFlightDescriptor.FIRST) >= 0
                && image.limit()
                        == InFlightDescriptor.RUNS
                                + (long) image.getInt(InFlightDescriptor.COUNT) * InFlightDescriptor.RUN_BYTES;
    }

    private ByteBuffer load() throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            long most = InFlightDescriptor.RUNS + Math.min(ALL_RUNS, mostRecords()) * InFlightDescriptor.RUN_BYTES;
            // A longer file is damaged, and not read to its end.
            ByteBuffer image =
                    ByteBuffer.allocate((int) Math.min(file.size(), most + 1)).order(ByteOrder.LITTLE_ENDIAN);
            file.read(image, 0);
            return image.flip();
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Deletes the file durably, if it exists. */
    void delete() throws IOException {
        if (storage.delete(path)) {
            storage.syncDirectory(path.getParent());
        }
    }
}
