package org.mmapqueue.spark.write.staging;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.Records;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Storage;

/**
 * The rows of staged files, mapped: the heap holds their lengths alone, and no file is read while the queue's log is
 * locked for the push. One thread.
 */
public final class StagedRecords implements Closeable {
    private final List<MappedByteBuffer> mappings = new ArrayList<>();
    private final Records records;

    /**
     * The rows of some files.
     *
     * @param storage where they are
     * @param directory where they lie
     * @param files of one partition, known to be whole
     * @throws IllegalArgumentException when there are more rows, or more bytes in a file, than one batch may have
     */
    public StagedRecords(Storage storage, Path directory, List<StagedFile> files) {
        long sum = files.stream().mapToLong(StagedFile::count).sum();
        if (sum > Integer.MAX_VALUE) {
            throw tooLarge(sum + " rows", files.get(0), Integer.MAX_VALUE + " rows");
        }
        boolean done = false;
        try {
            int[] lengths = new int[(int) sum];
            int count = 0;
            List<ByteBuffer> payloads = new ArrayList<>();
            for (StagedFile each : files) {
                if (each.size() > Integer.MAX_VALUE) {
                    throw tooLarge(each.size() + " bytes by one task", each, Integer.MAX_VALUE + " bytes");
                }
                if (each.size() > 0) {
                    count = read(
                            map(storage, directory.resolve(each.name()), (int) each.size()), payloads, lengths, count);
                }
            }
            records = Records.packed(payloads, lengths);
            done = true;
        } catch (IOException e) {
            throw new UncheckedIOException("a staged file of " + directory + " can not be read: " + e, e);
        } finally {
            if (!done) {
                close();
            }
        }
    }

    private static IllegalArgumentException tooLarge(String found, StagedFile file, String allowed) {
        return new IllegalArgumentException(found + " for partition " + file.partition() + " at once; allowed: up to "
                + allowed + "; write in smaller batches (for streams, by limits of the source such as"
                + " maxOffsetsPerTrigger) or by more tasks");
    }

    private ByteBuffer map(Storage storage, Path path, int size) throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            if (file.size() < size) {
                throw new EOFException(path + " has " + file.size() + " bytes, expected " + size);
            }
            MappedByteBuffer mapping = file.map(size, false);
            mappings.add(mapping);
            return mapping.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    // The payloads and lengths of each block; returns how many lengths there are then.
    private static int read(ByteBuffer file, List<ByteBuffer> payloads, int[] lengths, int count) {
        int known = count;
        for (int at = 0; at < file.limit(); ) {
            int rows = file.getInt(at);
            int bytes = file.getInt(at + Integer.BYTES);
            file.position(at + StagedFileWriter.HEADER)
                    .slice()
                    .order(file.order())
                    .asIntBuffer()
                    .get(lengths, known, rows);
            known += rows;
            int payload = at + StagedFileWriter.HEADER + Integer.BYTES * rows;
            payloads.add(file.slice(payload, bytes));
            at = payload + bytes;
        }
        return known;
    }

    /** The rows, for one push at a time. */
    public Records records() {
        return records;
    }

    /** The rows must not be used any more. */
    @Override
    public void close() {
        mappings.forEach(Mapped::unmap);
        mappings.clear();
    }
}
