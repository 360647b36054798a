package org.mmapqueue.spark.write.staging;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.Records;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapping;
import org.mmapqueue.io.Storage;

/**
 * The rows of staged files, mapped. Only their lengths are on the heap, and the push does not read from files while it
 * holds the appender's lock. Not thread-safe.
 */
public final class StagedRecords implements Closeable {
    private final List<Mapping> mappings = new ArrayList<>();
    private final Records records;

    /**
     * Maps files.
     *
     * @param storage the file system
     * @param directory the directory of the files
     * @param files intact files of one partition
     * @throws IllegalArgumentException if the rows, or the bytes of one file, exceed the limit of a push
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
            throw new UncheckedIOException("a staged file of " + directory + " cannot be read: " + e, e);
        } finally {
            if (!done) {
                close();
            }
        }
    }

    private static IllegalArgumentException tooLarge(String found, StagedFile file, String allowed) {
        return new IllegalArgumentException(found + " for partition " + file.partition() + " at once; allowed: up"
                + " to " + allowed + "; write smaller batches (for streams, by limits of the source such as" + ""
                + " maxOffsetsPerTrigger) or use more tasks");
    }

    private ByteBuffer map(Storage storage, Path path, int size) throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            if (file.size() < size) {
                throw new EOFException(path + " has " + file.size() + " bytes, expected " + size);
            }
            Mapping mapping = file.mapToUnmap(size, false);
            mappings.add(mapping);
            return mapping.bytes().duplicate().order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    // Reads the lengths of each block; returns the new number of lengths.
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

    /** The rows. Not for concurrent pushes. */
    public Records records() {
        return records;
    }

    /** Unmaps the files. The rows must not be used after the close. */
    @Override
    public void close() {
        mappings.forEach(Mapping::unmap);
        mappings.clear();
    }
}
