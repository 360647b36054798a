package org.mmapqueue.meta;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.CRC32C;

import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Storage;

/**
 * The cursor page of a named consumer, consumers/&lt;name&gt;.dat; mapped by its owner and by all who need to know
 * how far it is.
 *
 * <pre>
 *   0  magic (8)
 *   8  queue UUID (16)
 *  24  created at, µs since 1970 (8)
 *  32  CRC32C of bytes 0..31 (4)
 * 128  committed (8)     live cursors, each alone on its cache line,
 * 192  reading (8)       each one absolute position
 * 256  dropped (8)       as above; the writer's
 * 264  first offset that was dropped (8)
 * </pre>
 */
public final class ConsumerPage implements ConsumerCursors, Closeable {
    /** The directory of these pages in the queue directory. */
    public static final String DIRECTORY = "consumers";
    /** What follows the consumer's name in the file's name. */
    public static final String SUFFIX = ".dat";

    /** "MMAPQCO2" in ASCII, first byte lowest. */
    static final long MAGIC = 0x324F_4351_5041_4D4DL;
    private static final int CREATED_AT = 24;
    static final int CHECKSUM = 32;
    static final int COMMITTED = 128;
    static final int READING = 192;
    static final int DROPPED = 256;
    private static final int DROPPED_FIRST = 264;
    static final int LENGTH = 4096;
    /** What committed is when the consumer has been deleted: no position. */
    static final long DELETED = -1;

    private final DataFile file;
    private final ByteBuffer page;
    private boolean closed;

    private ConsumerPage(DataFile file, MappedByteBuffer mapping) {
        this.file = file;
        this.page = mapping;
    }

    /** Makes the page of a new consumer that stands at {@code position}; it appears whole or not at all. */
    public static void create(Storage storage, Path path, MetaFields queue, long createdAtMicros, long position)
            throws IOException {
        ByteBuffer image = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        image.putLong(0, MAGIC).putLong(8, queue.uuidHigh()).putLong(16, queue.uuidLow());
        image.putLong(CREATED_AT, createdAtMicros);
        image.putInt(CHECKSUM, checksum(image.array()));
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
            ByteBuffer image = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
            if (file.read(image, 0) != LENGTH || file.size() != LENGTH) {
                throw new CorruptException(path.toString(), file.size(),
                        "the file has " + file.size() + " bytes, expected " + LENGTH);
            }
            if (image.getLong(0) != MAGIC || image.getInt(CHECKSUM) != checksum(image.array())) {
                throw new CorruptException(path.toString(), 0, "this is no consumer's page, or its header is damaged");
            }
            if (image.getLong(8) != queue.uuidHigh() || image.getLong(16) != queue.uuidLow()) {
                throw new CorruptException(path.toString(), 8, "the consumer belongs to another queue");
            }
            return new ConsumerPage(file, file.map(LENGTH, true));
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    /** Whether this is still the file at {@code path}: it may have been deleted, and another one made of that name. */
    public boolean isStillAt(Storage storage, Path path) throws IOException {
        ByteBuffer created = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (DataFile there = storage.open(path, Storage.Mode.READ)) {
            return there.read(created, CREATED_AT) == Long.BYTES
                    && created.getLong(0) == (long) Mapped.LONG.get(page, CREATED_AT);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private static int checksum(byte[] image) {
        CRC32C crc = new CRC32C();
        crc.update(image, 0, CHECKSUM);
        return (int) crc.getValue();
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

    @Override
    public boolean noteDrop(long position) {
        return Mapped.LONG.compareAndSet(page, DROPPED, position, 0L);
    }

    /** Says that the consumer is deleted, to whoever has the page mapped: its file goes next. */
    public void delete() {
        Mapped.LONG.setRelease(page, COMMITTED, DELETED);
    }

    /** Whether the consumer has been deleted, though its file may be there. */
    public boolean isDeleted() {
        return committed() == DELETED;
    }

    @Override
    public long needed() {
        return isDeleted() ? Long.MAX_VALUE : ConsumerCursors.super.needed();
    }

    // One that is closed meanwhile was deleted: nobody will look for it on the disk.
    @Override
    public synchronized void force() throws IOException {
        if (!closed) {
            file.force();
        }
    }

    // The mapping is left to the garbage collector: a thread that still looks at a cursor must not take the JVM down.
    @Override
    public synchronized void close() throws IOException {
        closed = true;
        file.close();
    }
}
