package org.mmapqueue.segment;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/**
 * The segment files of one queue directory, found by id. Safe for any number of threads.
 *
 * @param geometry the ring's arithmetic
 * @param blocks chooses the block size of zero-filling
 */
public record SegmentRing(Storage storage, Path directory, Geometry geometry, FillBlocks blocks) {
    private static final int REWRITTEN_AT_ONCE = 1 << 20;

    public SegmentRing(Storage storage, Path directory, Geometry geometry) {
        this(
                storage,
                directory,
                geometry,
                new FillBlocks(Math.min(storage.blockSize(geometry.segmentSize()), geometry.segmentSize())));
    }

    public Path path(long id) {
        return directory.resolve(geometry.fileName(id));
    }

    /** The file of a segment's slot; not opened yet. */
    public SlotFile slotFile(long id) {
        return new SlotFile(storage, path(id), geometry.segmentSize());
    }

    /** The numbers of the ring slots that have files, in no order. */
    public List<Integer> slots() throws IOException {
        List<Integer> slots = new ArrayList<>();
        for (String digits : storage.list(directory, Geometry.FILE_SUFFIX).keySet()) {
            if (digits.matches("[0-9]{1,10}") && Long.parseLong(digits) < geometry.capacity()) {
                slots.add(Integer.parseInt(digits));
            }
        }
        return slots;
    }

    /**
     * Deletes the file of a ring slot. {@link #syncEntries} makes that durable.
     *
     * @return the bytes of the file; 0 when it is missing
     */
    public long delete(int slot) throws IOException {
        Path path = path(slot);
        long bytes;
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            bytes = file.size();
        } catch (NoSuchFileException e) {
            return 0;
        }
        return storage.delete(path) ? bytes : 0;
    }

    /** Makes new and deleted segment files durable. */
    public void syncEntries() throws IOException {
        storage.syncDirectory(directory);
    }

    /** Fsyncs a whole segment, with all stores through any mapping of its file. */
    public void force(long id) throws IOException {
        rewrite(id, 0, 0);
    }

    /**
     * Writes a part of a segment again, unchanged, and fsyncs the segment. After a failed fsync of an earlier process the
     * kernel may count pages as written that are not: an fsync alone leaves them out.
     */
    public void rewrite(long id, int from, int to) throws IOException {
        try (DataFile file = storage.open(path(id), Storage.Mode.WRITE)) {
            ByteBuffer block = ByteBuffer.allocate(Math.max(0, Math.min(to - from, REWRITTEN_AT_ONCE)));
            for (int at = from; at < to; at += block.capacity()) {
                block.clear().limit(Math.min(to - at, block.capacity()));
                file.read(block, at);
                file.write(block.flip(), at);
            }
            file.force();
        }
    }
}
