package org.mmapqueue.meta;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaImage.Word;

/** meta.dat of version 2: a mapped page; each cursor is one word. Thread-safe as {@link MetaPage} says. */
public final class MetaPageV2 implements MetaPage {
    private final DataFile file;
    private final ByteBuffer page;
    private volatile MetaFields fields;

    private MetaPageV2(DataFile file, MappedByteBuffer mapping, MetaFields fields) {
        this.file = file;
        this.page = mapping;
        this.fields = fields;
    }

    /** Creates the page of a new, empty, closed queue, atomically. */
    public static void create(Storage storage, Path directory, MetaFields fields) throws IOException {
        MetaImage image = MetaImage.of(fields);
        image.clean(true);
        image.write(storage, directory);
    }

    /**
     * Opens the page.
     *
     * @throws CorruptException when the fixed facts are damaged or out of range
     */
    public static MetaPageV2 open(Storage storage, Path directory) throws IOException {
        Path path = directory.resolve(FILE_NAME);
        DataFile file = storage.open(path, Storage.Mode.WRITE);
        try {
            MetaImage image = MetaImage.read(file);
            Mismatch wrong = image.check();
            if (wrong != null) {
                throw new CorruptException(path.toString(), wrong.at(), wrong.toString());
            }
            return new MetaPageV2(file, file.map(MetaDescriptor.LENGTH, true), image.fields());
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    @Override
    public MetaFields fields() {
        return fields;
    }

    @Override
    public void fields(MetaFields next) throws IOException {
        file.write(MetaImage.of(next).fixed(), MetaDescriptor.CAPACITY);
        file.force();
        fields = next;
    }

    @Override
    public long get(Word word) {
        return (long) Mapped.LONG.getAcquire(page, word.at);
    }

    @Override
    public void set(Word word, long value) {
        Mapped.LONG.setRelease(page, word.at, value);
    }

    @Override
    public void reclaiming(long position) {
        set(Word.RECLAIMING, position);
        VarHandle.fullFence();
    }

    @Override
    public void countConsumerChange() {
        long unused = (long) Mapped.LONG.getAndAdd(page, Word.CONSUMER_CHANGES.at(), 1L);
        VarHandle.fullFence();
    }

    @Override
    public void mirror() {
        int size = fields.segmentSize();
        for (Word word : Word.MIRRORED) {
            long position = get(word);
            Mapped.LONG.setOpaque(page, word.inTable(), position / size);
            Mapped.LONG.setOpaque(page, word.inTable() + Long.BYTES, position % size);
        }
    }

    @Override
    public boolean isMirrored() {
        return Word.MIRRORED.stream().allMatch(word -> inTable(word) == get(word));
    }

    private long inTable(Word word) {
        return (long) Mapped.LONG.getOpaque(page, word.inTable()) * fields.segmentSize()
                + (long) Mapped.LONG.getOpaque(page, word.inTable() + Long.BYTES);
    }

    @Override
    public long closedAt() {
        long number = (long) Mapped.LONG.getOpaque(page, MetaDescriptor.CLOSED_AT);
        long checksum = (long) Mapped.LONG.getOpaque(page, MetaDescriptor.CLOSED_CHECKSUM);
        return number >= 0 && checksum == MetaImage.closedChecksum(writing(), number, closedTime()) ? number : -1;
    }

    @Override
    public long closedTime() {
        return (long) Mapped.LONG.getOpaque(page, MetaDescriptor.CLOSED_TIME);
    }

    @Override
    public void closedAt(long nextOffset, long newest) {
        Mapped.LONG.setOpaque(page, MetaDescriptor.CLOSED_AT, nextOffset);
        Mapped.LONG.setOpaque(page, MetaDescriptor.CLOSED_TIME, newest);
        Mapped.LONG.setOpaque(
                page, MetaDescriptor.CLOSED_CHECKSUM, MetaImage.closedChecksum(writing(), nextOffset, newest));
    }

    @Override
    public boolean clean() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.CLEAN_MARK) == MetaDescriptor.CLEAN;
    }

    @Override
    public void clean(boolean closed) throws IOException {
        Mapped.LONG.setRelease(page, MetaDescriptor.CLEAN_MARK, closed ? MetaDescriptor.CLEAN : 0L);
        force();
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
