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
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.RecordDescriptor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file consumers/&lt;name&gt;.inflight, in which a clean close saves the attempts of a consumer's in-flight
 * records, and which records are acked out of order. Opening the consumer deletes the file: after a crash, a stale one
 * must not be read. Recovery deletes files with records beyond the log end, because those offsets are assigned to new
 * records.
 */
public record InFlightFile(Storage storage, Path path, MetaFields queue) {
    private static final Logger LOG = LoggerFactory.getLogger(InFlightFile.class);

    /**
     * An intact file.
     *
     * @param records the number of its records
     * @param reading the position after the last of them
     */
    record Saved(ByteBuffer image, long records, long reading) {
        /** Adds the records to an empty table. */
        void restore(InFlight inFlight) {
            for (int at = InFlightDescriptor.RUNS; at < image.limit(); at += InFlightDescriptor.RUN_BYTES) {
                for (int i = image.getInt(at); i > 0; i--) {
                    inFlight.restore(image.getInt(at + Integer.BYTES), 0);
                }
            }
            inFlight.endAt(reading);
        }
    }

    /**
     * Writes the table; does nothing if it is empty.
     *
     * @param first the offset of the record at the committed position: the table may begin later, after acks that are not
     *     committed
     * @param committed the committed position
     * @param reading the position after the last popped record
     */
    void write(InFlight inFlight, long first, long committed, long reading) throws IOException {
        long end = inFlight.end();
        if (first == end) {
            return;
        }
        List<int[]> runs = new ArrayList<>();
        int[] run = {0, 0};
        for (long offset = first; offset < end; offset++) {
            int times = inFlight.times(offset);
            if (run[0] == 0 || times != run[1]) {
                run = new int[] {0, times};
                runs.add(run);
            }
            run[0]++;
        }
        ByteBuffer image = ByteBuffer.allocate(InFlightDescriptor.RUNS + runs.size() * InFlightDescriptor.RUN_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
        image.putLong(InFlightDescriptor.MAGIC).putLong(queue.uuidLow()).putLong(committed);
        image.putLong(end > inFlight.next() ? inFlight.endPosition() : reading);
        image.putInt(runs.size()).putInt(0);
        runs.forEach(each -> image.putInt(each[0]).putInt(each[1]));
        image.flip();
        image.putInt(InFlightDescriptor.CHECKSUM, InFlightDescriptor.checksum(image));
        try (DataFile file = storage.open(path, Storage.Mode.CREATE)) {
            file.write(image, 0);
            file.force();
        }
        storage.syncDirectory(path.getParent());
    }

    /**
     * Reads and deletes the file. Returns null if none exists, and for a file with numbers that are impossible: its
     * records are redelivered.
     *
     * @param committed the consumer's committed position; a file with another one is ignored
     */
    Saved take(long committed) throws IOException {
        ByteBuffer image = read();
        if (image == null) {
            return null;
        }
        delete();
        if (!isWhole(image) || image.getLong(InFlightDescriptor.COMMITTED) != committed || !areSound(image)) {
            return null;
        }
        long records = 0;
        for (int at = InFlightDescriptor.RUNS; at < image.limit(); at += InFlightDescriptor.RUN_BYTES) {
            records += image.getInt(at);
        }
        return new Saved(image, records, image.getLong(InFlightDescriptor.READING));
    }

    /**
     * Durably deletes the files of all consumers with records beyond the log end. Must be called before new records get
     * these offsets.
     */
    public static void deleteBeyond(long end, Storage storage, Path consumersDirectory, MetaFields queue)
            throws IOException {
        if (!Files.isDirectory(consumersDirectory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        for (Path each :
                Listing.of(consumersDirectory, InFlightDescriptor.SUFFIX).values()) {
            InFlightFile file = new InFlightFile(storage, each, queue);
            ByteBuffer image = file.read();
            // A damaged file is ignored anyway; another process may be writing it.
            if (image != null && file.isWhole(image) && image.getLong(InFlightDescriptor.READING) > end) {
                file.delete();
            }
        }
    }

    // Whether each run has records, and attempts that a record can have, and all of them fit between the positions. The
    // checksum does not show that: whoever can write the file can compute it.
    private static boolean areSound(ByteBuffer image) {
        long most = mostRecords(image);
        long records = 0;
        for (int at = InFlightDescriptor.RUNS; at < image.limit(); at += InFlightDescriptor.RUN_BYTES) {
            int times = image.getInt(at + Integer.BYTES);
            int run = image.getInt(at);
            records += run;
            if (run < 1 || records > most || times < InFlight.TIMES_ACKED || times > InFlight.MOST_ATTEMPTS) {
                LOG.warn(
                        "a file of records in flight is ignored, and they are redelivered: found {} records with {}"
                                + " attempts, expected 1..{} and {}..{}",
                        run,
                        times,
                        most,
                        InFlight.TIMES_ACKED,
                        InFlight.MOST_ATTEMPTS);
                return false;
            }
        }
        return true;
    }

    // The most records between the positions in a header; each takes 8 bytes at least.
    private static long mostRecords(ByteBuffer head) {
        long bytes = head.getLong(InFlightDescriptor.READING) - head.getLong(InFlightDescriptor.COMMITTED);
        return Math.max(0, bytes) / RecordDescriptor.HEADER;
    }

    private boolean isWhole(ByteBuffer image) {
        return image.limit() >= InFlightDescriptor.RUNS
                && image.getLong(0) == InFlightDescriptor.MAGIC
                && image.getInt(InFlightDescriptor.CHECKSUM) == InFlightDescriptor.checksum(image)
                && image.getLong(InFlightDescriptor.UUID_LOW) == queue.uuidLow()
                && image.limit()
                        == InFlightDescriptor.RUNS
                                + (long) image.getInt(InFlightDescriptor.COUNT) * InFlightDescriptor.RUN_BYTES;
    }

    private ByteBuffer read() throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            ByteBuffer head = ByteBuffer.allocate(InFlightDescriptor.RUNS).order(ByteOrder.LITTLE_ENDIAN);
            long records = file.read(head, 0) < InFlightDescriptor.RUNS ? 0 : mostRecords(head);
            long ring = (long) queue.capacity() * queue.segmentSize();
            long most = InFlightDescriptor.RUNS
                    + Math.min(records, ring / RecordDescriptor.HEADER) * InFlightDescriptor.RUN_BYTES;
            // A longer file is damaged, and not read to its end.
            long read = Math.min(file.size(), Math.min(most + 1, Integer.MAX_VALUE - InFlightDescriptor.RUN_BYTES));
            ByteBuffer image = ByteBuffer.allocate((int) read).order(ByteOrder.LITTLE_ENDIAN);
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
