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
        image.hasDefault(false); // created by the first call that reads as the default consumer
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
    public long writing() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.WRITING);
    }

    @Override
    public void writing(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.WRITING, position);
    }

    @Override
    public long watermark() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.WATERMARK);
    }

    @Override
    public void watermark(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.WATERMARK, position);
    }

    @Override
    public long committed() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.COMMITTED);
    }

    @Override
    public void committed(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.COMMITTED, position);
    }

    @Override
    public long reading() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.READING);
    }

    @Override
    public void reading(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.READING, position);
    }

    @Override
    public long dropped() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.DROPPED);
    }

    @Override
    public long droppedFirst() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.DROPPED_FIRST);
    }

    @Override
    public void drop(long position, long first) {
        Mapped.LONG.setRelease(page, MetaDescriptor.DROPPED_FIRST, first);
        Mapped.LONG.setRelease(page, MetaDescriptor.DROPPED, position);
    }

    @Override
    public boolean noteDrop(long position) {
        return Mapped.LONG.compareAndSet(page, MetaDescriptor.DROPPED, position, 0L);
    }

    @Override
    public long needed() {
        return hasDefault() ? MetaPage.super.needed() : Long.MAX_VALUE;
    }

    @Override
    public long reclaimed() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.RECLAIMED);
    }

    @Override
    public void reclaimed(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.RECLAIMED, position);
    }

    @Override
    public long reclaiming() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.RECLAIMING);
    }

    @Override
    public void reclaiming(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.RECLAIMING, position);
        VarHandle.fullFence();
    }

    @Override
    public long intact() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.INTACT);
    }

    @Override
    public void intact(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.INTACT, position);
    }

    @Override
    public long consumerChanges() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.CONSUMER_CHANGES);
    }

    @Override
    public void countConsumerChange() {
        long unused = (long) Mapped.LONG.getAndAdd(page, MetaDescriptor.CONSUMER_CHANGES, 1L);
        VarHandle.fullFence();
    }

    @Override
    public long heldFrom() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.HELD_FROM);
    }

    @Override
    public void heldFrom(long position) {
        Mapped.LONG.setRelease(page, MetaDescriptor.HELD_FROM, position);
    }

    @Override
    public boolean hasDefault() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.DEFAULT_DELETED) != MetaDescriptor.DELETED;
    }

    @Override
    public void hasDefault(boolean there) {
        Mapped.LONG.setRelease(page, MetaDescriptor.DEFAULT_DELETED, there ? 0L : MetaDescriptor.DELETED);
    }

    @Override
    public long retainMillis() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.RETAIN_MILLIS);
    }

    @Override
    public long retainBytes() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.RETAIN_BYTES);
    }

    @Override
    public long gapsEnd() {
        return (long) Mapped.LONG.getAcquire(page, MetaDescriptor.GAPS_END);
    }

    @Override
    public void retain(long millis, long bytes) {
        Mapped.LONG.setRelease(page, MetaDescriptor.RETAIN_MILLIS, millis);
        Mapped.LONG.setRelease(page, MetaDescriptor.RETAIN_BYTES, bytes);
    }

    @Override
    public void mirror() {
        mirror(MetaDescriptor.TABLE_WRITING, writing());
        mirror(MetaDescriptor.TABLE_WATERMARK, watermark());
        mirror(MetaDescriptor.TABLE_COMMITTED, committed());
        mirror(MetaDescriptor.TABLE_READING, reading());
    }

    private void mirror(int at, long position) {
        int size = fields.segmentSize();
        Mapped.LONG.setOpaque(page, at, position / size);
        Mapped.LONG.setOpaque(page, at + 8, position % size);
    }

    @Override
    public boolean isMirrored() {
        return tableAt(MetaDescriptor.TABLE_WRITING) == writing()
                && tableAt(MetaDescriptor.TABLE_WATERMARK) == watermark();
    }

    private long tableAt(int at) {
        return (long) Mapped.LONG.getOpaque(page, at) * fields.segmentSize()
                + (long) Mapped.LONG.getOpaque(page, at + 8);
    }

    @Override
    public long closedAt() {
        long number = (long) Mapped.LONG.getOpaque(page, MetaDescriptor.CLOSED_AT);
        long checksum = (long) Mapped.LONG.getOpaque(page, MetaDescriptor.CLOSED_AT_CHECKSUM);
        return number >= 0 && checksum == MetaImage.closedAtChecksum(writing(), number) ? number : -1;
    }

    @Override
    public void closedAt(long nextOffset) {
        Mapped.LONG.setOpaque(page, MetaDescriptor.CLOSED_AT, nextOffset);
        Mapped.LONG.setOpaque(
                page, MetaDescriptor.CLOSED_AT_CHECKSUM, MetaImage.closedAtChecksum(writing(), nextOffset));
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
