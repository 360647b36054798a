package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLongArray;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaImage.Word;

/**
 * meta.dat of version 1, as Apache SkyWalking Satellite writes it: 80 bytes, each cursor a pair of words. Storing a
 * pair is not atomic, so while the queue is open the fields of this object are authoritative; the pairs are stored in
 * Satellite's order (id, then offset). The words without a pair are not stored: one process has the queue open.
 */
public final class MetaPageV1 implements MetaPage {
    private final DataFile file;
    private final ByteBuffer page;
    private final MetaFields fields;
    /** The values of all words, by their ordinals. */
    private final AtomicLongArray words = new AtomicLongArray(Word.values().length);

    private final ConsumerCursors consumer = new Cursors();
    private volatile long committed;
    private volatile long reading;

    private MetaPageV1(DataFile file, MappedByteBuffer mapping, MetaFields fields) {
        this.file = file;
        this.page = mapping;
        this.fields = fields;
        for (Word word : Word.MIRRORED) {
            words.set(word.ordinal(), load(word.inTable()));
        }
        this.committed = load(MetaDescriptor.TABLE_COMMITTED);
        this.reading = load(MetaDescriptor.TABLE_READING);
    }

    public static void create(Storage storage, Path directory, int capacity) throws IOException {
        ByteBuffer image = ByteBuffer.allocate(MetaDescriptor.V1_LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        image.putLong(MetaDescriptor.VERSION, 1);
        image.putLong(MetaDescriptor.CAPACITY, capacity);
        NewFile.write(storage, directory.resolve(FILE_NAME), image);
    }

    /**
     * Whether a Satellite was killed while it created this queue; Satellite treats such a file as a new queue. The file
     * is first empty, then extended with zeros; then version and capacity are stored. No cursor has moved yet.
     *
     * @param head the file's first bytes, with zeros after its end
     * @param length of the file, in bytes
     */
    public static boolean isUnfinished(ByteBuffer head, long length) {
        boolean isNew = head.getLong(MetaDescriptor.VERSION) == 0 || head.getLong(MetaDescriptor.CAPACITY) == 0;
        return length <= MetaDescriptor.V1_LENGTH
                && isNew
                && head.getLong(MetaDescriptor.VERSION) >>> 1 == 0
                && isUnused(head);
    }

    /** Whether no cursor has moved: nothing was ever pushed. */
    public static boolean isUnused(ByteBuffer head) {
        return Mapped.isZero(head, MetaDescriptor.TABLE_WRITING, MetaDescriptor.CAPACITY);
    }

    /**
     * Opens the page.
     *
     * @param fields the facts, of which version 1 stores the capacity alone
     * @throws CorruptException when a cursor does not fit the segment size
     */
    public static MetaPageV1 open(Storage storage, Path directory, MetaFields fields) throws IOException {
        Path path = directory.resolve(FILE_NAME);
        DataFile file = storage.open(path, Storage.Mode.WRITE);
        try {
            if (file.size() != MetaDescriptor.V1_LENGTH) {
                throw new CorruptException(
                        path.toString(),
                        file.size(),
                        "the file has " + file.size() + " bytes, expected " + MetaDescriptor.V1_LENGTH
                                + " for version 1");
            }
            MappedByteBuffer mapping = file.map(MetaDescriptor.V1_LENGTH, true);
            for (int at = MetaDescriptor.TABLE_WRITING; at < MetaDescriptor.CAPACITY; at += 16) {
                long id = (long) Mapped.LONG.get((ByteBuffer) mapping, at);
                long offset = (long) Mapped.LONG.get((ByteBuffer) mapping, at + 8);
                if (id < 0
                        || id > Long.MAX_VALUE / fields.segmentSize() - 1
                        || offset < 0
                        || offset >= fields.segmentSize()) {
                    throw new CorruptException(
                            path.toString(),
                            at,
                            "the position " + Long.toUnsignedString(id) + "-"
                                    + Long.toUnsignedString(offset) + " is outside of segments of "
                                    + fields.segmentSize()
                                    + " bytes");
                }
            }
            return new MetaPageV1(file, mapping, fields);
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    private long load(int at) {
        return (long) Mapped.LONG.get(page, at) * fields.segmentSize() + (long) Mapped.LONG.get(page, at + 8);
    }

    private void store(int at, long position) {
        Mapped.LONG.setRelease(page, at, position / fields.segmentSize());
        Mapped.LONG.setRelease(page, at + 8, position % fields.segmentSize());
    }

    @Override
    public MetaFields fields() {
        return fields;
    }

    @Override
    public void fields(MetaFields next) {
        throw new UnsupportedOperationException("version 1 stores no facts that could change");
    }

    @Override
    public long get(Word word) {
        return words.get(word.ordinal());
    }

    @Override
    public void set(Word word, long value) {
        if (word.inTable() > 0) {
            store(word.inTable(), value);
        }
        words.set(word.ordinal(), value);
    }

    @Override
    public void retain(long millis, long bytes) {
        // Version 1 retains no acked records.
    }

    @Override
    public void reclaiming(long position) {
        set(Word.RECLAIMING, position);
    }

    @Override
    public void countConsumerChange() {
        words.incrementAndGet(Word.CONSUMER_CHANGES.ordinal());
    }

    @Override
    public ConsumerCursors consumer() {
        return consumer;
    }

    /** The only consumer of version 1, which always exists. */
    private final class Cursors implements ConsumerCursors {
        @Override
        public long committed() {
            return committed;
        }

        @Override
        public void committed(long position) {
            store(MetaDescriptor.TABLE_COMMITTED, position);
            committed = position;
        }

        @Override
        public long reading() {
            return reading;
        }

        @Override
        public void reading(long position) {
            store(MetaDescriptor.TABLE_READING, position);
            reading = position;
        }

        @Override
        public void force() {
            // These are part of the meta page, which is always fsynced after the consumers' cursors.
        }
    }

    @Override
    public boolean clean() {
        return writing() == watermark();
    }

    @Override
    public void clean(boolean closed) {
        // Version 1 stores no such flag: a recovery point at the writing position means closed.
    }

    @Override
    public void force() throws IOException {
        file.force();
    }

    // The garbage collector unmaps the page: a thread that still reads a cursor must not crash the JVM.
    @Override
    public void close() throws IOException {
        file.close();
    }
}
