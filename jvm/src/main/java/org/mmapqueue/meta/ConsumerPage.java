package org.mmapqueue.meta;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/**
 * The cursor page of a named consumer, consumers/&lt;name&gt;.dat; mapped by its owner and by all processes that read
 * its positions.
 *
 * <pre>
 *   0  magic (8)
 *   8  queue UUID (16)
 *  24  created at, µs since 1970 (8)
 *  32  CRC32C of bytes 0..31 (4)
 * 128  committed (8)     live cursors, each on a cache line of its own,
 * 192  reading (8)       each one absolute position
 * 256  dropped (8)       likewise; stored by the writer
 * 264  first offset that was dropped (8)
 * 136  offset of the first record that is not acked, plus 1 (8); 0 = not known; stored together with committed
 * 512  bytes of the label (4), CRC32C of those four and of the label (4), the label in UTF-8
 * </pre>
 */
public final class ConsumerPage implements ConsumerCursors, Closeable {
    /** The directory of these pages in the queue directory. */
    public static final String DIRECTORY = "consumers";
    /** The suffix of the file names. */
    public static final String SUFFIX = ".dat";

    /** "MMAPQCO2" in ASCII, first byte lowest. */
    static final long MAGIC = 0x324F_4351_5041_4D4DL;

    static final int COMMITTED = 128;
    static final int READING = 192;
    static final int DROPPED = 256;
    static final int DROPPED_FIRST = 264;
    static final int UNACKED_OFFSET = 136;
    private static final int LABEL_LENGTH = 512;
    private static final int LABEL_CHECKSUM = 516;
    private static final int LABEL = 520;
    /** The maximum length of a label, in bytes of UTF-8. */
    public static final int MOST_LABEL_BYTES = 3000;
    /** Stored as the committed position of a deleted consumer. */
    static final long DELETED = -1;

    private final DataFile file;
    private final ByteBuffer page;
    private boolean closed;

    private ConsumerPage(DataFile file, MappedByteBuffer mapping) {
        this.file = file;
        this.page = mapping;
    }

    /** Creates the page of a new consumer at {@code position}, atomically. */
    public static void create(Storage storage, Path path, MetaFields queue, long createdAtMicros, long position)
            throws IOException {
        ByteBuffer image = PageHeader.create(MAGIC, queue, createdAtMicros);
        image.putLong(COMMITTED, position).putLong(READING, position);
        NewFile.write(storage, path, image);
    }

    /**
     * Opens the page.
     *
     * @throws CorruptException when it is not whole, or of another queue
     */
    public static ConsumerPage open(Storage storage, Path path, MetaFields queue) throws IOException {
        DataFile file = storage.open(path, Storage.Mode.WRITE);
        try {
            PageHeader.read(file, path, MAGIC, queue, "consumer");
            return new ConsumerPage(file, file.map(PageHeader.LENGTH, true));
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    /** Whether {@code path} is still this file; another process may have deleted and recreated it. */
    public boolean isStillAt(Storage storage, Path path) throws IOException {
        ByteBuffer created = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (DataFile there = storage.open(path, Storage.Mode.READ)) {
            return there.read(created, PageHeader.CREATED_AT) == Long.BYTES
                    && created.getLong(0) == (long) Mapped.LONG.get(page, PageHeader.CREATED_AT);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    @Override
    public long committed() {
        return (long) Mapped.LONG.getAcquire(page, COMMITTED);
    }

    @Override
    public void committed(long position) {
        Mapped.LONG.setRelease(page, COMMITTED, position);
    }

    @Override
    public long reading() {
        return (long) Mapped.LONG.getAcquire(page, READING);
    }

    @Override
    public void reading(long position) {
        Mapped.LONG.setRelease(page, READING, position);
    }

    @Override
    public long dropped() {
        return (long) Mapped.LONG.getAcquire(page, DROPPED);
    }

    @Override
    public long droppedFirst() {
        return (long) Mapped.LONG.getAcquire(page, DROPPED_FIRST);
    }

    @Override
    public void drop(long position, long first) {
        Mapped.LONG.setRelease(page, DROPPED_FIRST, first);
        Mapped.LONG.setRelease(page, DROPPED, position);
    }

    // The writer may raise the position at this moment, and must not be overruled.
    @Override
    public void leaveBefore(long position, long offset) {
        long before = dropped();
        while (before < position && !Mapped.LONG.compareAndSet(page, DROPPED, before, position)) {
            before = dropped();
        }
        unackedOffset(offset);
        committed(0); // from here on the consumer is behind the ring
    }

    @Override
    public void dropMore(long position) {
        Mapped.LONG.setRelease(page, DROPPED, position);
    }

    @Override
    public long unackedOffset() {
        long stored = (long) Mapped.LONG.getAcquire(page, UNACKED_OFFSET);
        return stored > 0 ? stored - 1 : droppedFirst();
    }

    @Override
    public void unackedOffset(long offset) {
        Mapped.LONG.setRelease(page, UNACKED_OFFSET, offset + 1);
    }

    @Override
    public boolean noteDrop(long position) {
        return Mapped.LONG.compareAndSet(page, DROPPED, position, 0L);
    }

    // A wrong checksum: the label is being stored at this moment, or a loss of power interrupted that. It counts as
    // empty.
    @Override
    public String label() {
        int checksum = (int) Mapped.INT.getAcquire(page, LABEL_CHECKSUM);
        int length = (int) Mapped.INT.getAcquire(page, LABEL_LENGTH);
        if (checksum == 0 || length <= 0 || length > MOST_LABEL_BYTES) {
            return "";
        }
        byte[] text = new byte[length];
        page.get(LABEL, text);
        return labelChecksum(text) == checksum ? new String(text, StandardCharsets.UTF_8) : "";
    }

    @Override
    public synchronized void label(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > MOST_LABEL_BYTES) {
            throw new IllegalArgumentException(
                    "the label has " + bytes.length + " bytes, allowed: up to " + MOST_LABEL_BYTES);
        }
        Mapped.INT.setRelease(page, LABEL_CHECKSUM, 0);
        Mapped.INT.setRelease(page, LABEL_LENGTH, bytes.length);
        page.put(LABEL, bytes);
        Mapped.INT.setRelease(page, LABEL_CHECKSUM, labelChecksum(bytes));
    }

    private static int labelChecksum(byte[] text) {
        byte[] length = new byte[Integer.BYTES];
        Mapped.ARRAY_INT.set(length, 0, text.length);
        CRC32C crc = new CRC32C();
        crc.update(length, 0, length.length);
        crc.update(text, 0, text.length);
        int value = (int) crc.getValue();
        return value == 0 ? -1 : value;
    }

    /** Marks the consumer as deleted, for all processes that have the page mapped, before its file is deleted. */
    public void delete() {
        Mapped.LONG.setRelease(page, COMMITTED, DELETED);
    }

    /** Whether the consumer was deleted, though its file may exist. */
    public boolean isDeleted() {
        return committed() == DELETED;
    }

    @Override
    public long needed() {
        return isDeleted() ? Long.MAX_VALUE : ConsumerCursors.super.needed();
    }

    // The header, which no process changes.
    @Override
    public void rewrite() throws IOException {
        byte[] header = new byte[PageHeader.CHECKSUM + Integer.BYTES];
        page.get(0, header);
        file.write(ByteBuffer.wrap(header), 0);
    }

    // A closed page belongs to a deleted consumer, and needs no fsync.
    @Override
    public synchronized void force() throws IOException {
        if (!closed) {
            file.force();
        }
    }

    // The garbage collector unmaps the page: a thread that still reads a cursor must not crash the JVM.
    @Override
    public synchronized void close() throws IOException {
        closed = true;
        file.close();
    }
}
