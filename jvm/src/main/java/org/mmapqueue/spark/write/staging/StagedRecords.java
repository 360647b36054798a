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
import org.mmapqueue.errors.CorruptException;
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
     * @throws CorruptException if a file has the right checksum and impossible values
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
                Path path = directory.resolve(each.name());
                ByteBuffer file = each.size() == 0 ? ByteBuffer.allocate(0) : map(storage, path, (int) each.size());
                count = read(path, file, payloads, lengths, count, count + (int) each.count());
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

    // Reads the lengths of each block; returns the new number of lengths. The file has the checksum that its task has
    // computed,
    // but both may be forged.
    private static int read(Path path, ByteBuffer file, List<ByteBuffer> payloads, int[] lengths, int known, int end) {
        int count = known;
        for (int at = 0; at < file.limit(); ) {
            if (file.limit() - at < StagedFileWriter.HEADER) {
                throw corrupt(path, at, "the file ends inside a block");
            }
            int rows = file.getInt(at);
            check(path, at, "the number of rows", rows, Math.min(end - count, (file.limit() - at) / Integer.BYTES - 2));
            int bytes = file.getInt(at + Integer.BYTES);
            int payload = at + StagedFileWriter.HEADER + Integer.BYTES * rows;
            check(path, at + Integer.BYTES, "the size of the payloads", bytes, file.limit() - payload);
            int left = bytes;
            for (int i = 0; i < rows; i++) {
                int lengthAt = at + StagedFileWriter.HEADER + Integer.BYTES * i;
                int length = file.getInt(lengthAt);
                check(path, lengthAt, "the length of a row", length, left);
                lengths[count++] = length;
                left -= length;
            }
            if (left > 0) {
                throw corrupt(path, at, "a block has " + left + " bytes after its rows; expected 0");
            }
            payloads.add(file.slice(payload, bytes));
            at = payload + bytes;
        }
        if (count < end) {
            throw corrupt(path, file.limit(), "the file ends " + (end - count) + " rows too early");
        }
        return count;
    }

    private static void check(Path path, int at, String what, int value, int most) {
        if (value < 0 || value > most) {
            throw corrupt(path, at, what + " is " + value + "; allowed: 0 to " + most);
        }
    }

    private static CorruptException corrupt(Path path, int at, String detail) {
        return new CorruptException(path.toString(), at, detail);
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
