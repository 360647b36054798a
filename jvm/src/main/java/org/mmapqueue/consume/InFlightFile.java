package org.mmapqueue.consume;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;

/**
 * The file consumers/&lt;name&gt;.inflight, in which a clean close saves the attempts of a consumer's in-flight records,
 * and which records are acked out of order. Opening the consumer deletes the file: after a crash a stale one must not be
 * read. Recovery deletes files with records beyond the log end, because their offsets are given to new records.
 *
 * <pre>
 *  0  magic (8)
 *  8  queue UUID, least significant 8 bytes (8)
 * 16  committed position (8)
 * 24  position after the last of these records (8)
 * 32  number of runs (4)
 * 36  CRC32C of bytes 0..35 and 40.. (4)
 * 40  runs, 8 bytes each: number of records (4), times popped (4), or -1 for acked; the first begins at committed
 * </pre>
 */
public final class InFlightFile {
    private static final String SUFFIX = ".inflight";
    /** "MMAPQIF2" in ASCII, first byte lowest. */
    private static final long MAGIC = 0x3246_4951_5041_4D4DL;

    private static final int UUID_LOW = 8;
    private static final int COMMITTED = 16;
    private static final int READING = 24;
    private static final int COUNT = 32;
    private static final int CHECKSUM = 36;
    private static final int RUNS = 40;
    private static final int RUN_BYTES = 8;

    private final Storage storage;
    private final Path path;
    private final MetaFields queue;

    InFlightFile(Storage storage, Path consumersDirectory, String name, MetaFields queue) {
        this.storage = storage;
        this.path = consumersDirectory.resolve(name + SUFFIX);
        this.queue = queue;
    }

    /**
     * Writes the window, and what is saved of the records after it; does nothing if there are none.
     *
     * @param committed the position at which the window begins
     * @param reading the position at which the window ends
     */
    void write(Window window, SavedInFlight saved, long committed, long reading) throws IOException {
        long end = Math.max(window.next(), saved.end(window.next()));
        if (window.first() == end) {
            return;
        }
        List<int[]> runs = new ArrayList<>();
        int[] run = {0, 0};
        for (long offset = window.first(); offset < end; offset++) {
            int times = times(window, saved, offset);
            if (run[0] == 0 || times != run[1]) {
                run = new int[] {0, times};
                runs.add(run);
            }
            run[0]++;
        }
        ByteBuffer image = ByteBuffer.allocate(RUNS + runs.size() * RUN_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        image.putLong(MAGIC).putLong(queue.uuidLow()).putLong(committed);
        image.putLong(end > window.next() ? saved.position() : reading);
        image.putInt(runs.size()).putInt(0);
        runs.forEach(each -> image.putInt(each[0]).putInt(each[1]));
        image.flip();
        image.putInt(CHECKSUM, checksum(image));
        try (DataFile file = storage.open(path, Storage.Mode.CREATE)) {
            file.write(image, 0);
            file.force();
        }
        storage.syncDirectory(path.getParent());
    }

    private static int times(Window window, SavedInFlight saved, long offset) {
        if (offset >= window.next()) {
            return saved.times(offset);
        }
        return window.state(offset) == Window.ACKED ? SavedInFlight.ACKED : window.attempts(offset);
    }

    /**
     * Reads and deletes the file.
     *
     * @param committed the consumer's committed position; a file with another one is ignored
     * @param first the offset of the record there
     */
    void take(long committed, long first, SavedInFlight saved) throws IOException {
        ByteBuffer image = read();
        if (image == null) {
            return;
        }
        delete();
        if (!isWhole(image) || image.getLong(COMMITTED) != committed || image.getLong(READING) < committed) {
            return;
        }
        for (int at = RUNS; at < image.limit(); at += RUN_BYTES) {
            saved.add(first, image.getInt(at), image.getInt(at + Integer.BYTES));
        }
        saved.endAt(image.getLong(READING));
    }

    /**
     * Deletes the files of all consumers with records beyond the log end, durably: before new records get these
     * offsets.
     */
    public static void deleteBeyond(long end, Storage storage, Path consumersDirectory, MetaFields queue)
            throws IOException {
        if (!Files.isDirectory(consumersDirectory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(consumersDirectory, "*" + SUFFIX)) {
            for (Path each : files) {
                String name = each.getFileName().toString();
                InFlightFile file = new InFlightFile(
                        storage, consumersDirectory, name.substring(0, name.length() - SUFFIX.length()), queue);
                ByteBuffer image = file.read();
                // A file that is not whole is ignored anyway; another process may be writing it.
                if (image != null && file.isWhole(image) && image.getLong(READING) > end) {
                    file.delete();
                }
            }
        }
    }

    private boolean isWhole(ByteBuffer image) {
        return image.limit() >= RUNS
                && image.getLong(0) == MAGIC
                && image.getInt(CHECKSUM) == checksum(image)
                && image.getLong(UUID_LOW) == queue.uuidLow()
                && image.limit() == RUNS + (long) image.getInt(COUNT) * RUN_BYTES;
    }

    private ByteBuffer read() throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            ByteBuffer image = ByteBuffer.allocate((int) Math.min(file.size(), Integer.MAX_VALUE - RUN_BYTES))
                    .order(ByteOrder.LITTLE_ENDIAN);
            file.read(image, 0);
            return image.flip();
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Deletes the file if it exists, durably. */
    void delete() throws IOException {
        if (storage.delete(path)) {
            storage.syncDirectory(path.getParent());
        }
    }

    private static int checksum(ByteBuffer image) {
        CRC32C crc = new CRC32C();
        crc.update(image.array(), 0, CHECKSUM);
        crc.update(image.array(), RUNS, image.limit() - RUNS);
        return (int) crc.getValue();
    }
}
