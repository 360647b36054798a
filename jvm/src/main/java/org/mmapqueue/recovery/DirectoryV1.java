package org.mmapqueue.recovery;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.MetaPageV1;
import org.mmapqueue.segment.Geometry;

/** Derives the fixed facts of a directory of version 1, which its meta page does not store. */
public record DirectoryV1(Storage storage, Path path, ConfigValues config) {
    private static final int PAGE = 4096;
    private static final int LARGEST_SEGMENT = 1 << 30;
    private static final int MOST_SEGMENTS = 1 << 30;
    private static final int CHUNK = 256 * 1024;
    private static final int CAPACITY_AT = 72;

    /** The fixed facts of a queue, from its meta page and the lengths of its segments. */
    MetaFields fields(ByteBuffer head) throws IOException {
        long capacity = head.getLong(CAPACITY_AT);
        if (capacity < 1 || capacity > MOST_SEGMENTS) {
            throw new CorruptException(
                    meta().toString(),
                    CAPACITY_AT,
                    "the capacity is " + Long.toUnsignedString(capacity) + ", expected 1.." + MOST_SEGMENTS);
        }
        return new MetaFields(
                1,
                (int) capacity,
                segmentSize(MetaPageV1.isUnused(head)),
                0,
                0,
                false,
                (int) config.number(ConfigKey.MAX_EVENT_SIZE),
                0,
                0);
    }

    private Collection<Path> segments() throws IOException {
        return Listing.of(path, Geometry.FILE_SUFFIX).values();
    }

    private Path meta() {
        return path.resolve(MetaPage.FILE_NAME);
    }

    // Version 1 stores no segment size. The length of the largest file is the size; a kill or a full disk leaves
    // shorter files. Before the first push no file may have its full length yet: then the configured size applies, and
    // longer files are replaced.
    private int segmentSize(boolean isUnused) throws IOException {
        long size = -1;
        Path largest = null;
        for (Path file : segments()) {
            long found = Files.size(file);
            if (found > size) {
                size = found;
                largest = file;
            }
        }
        int configured = (int) config.number(ConfigKey.SEGMENT_SIZE);
        boolean isSize = size > 0 && size % PAGE == 0 && size <= LARGEST_SEGMENT;
        if (largest == null || isUnused && (config.isSet(ConfigKey.SEGMENT_SIZE) || !isSize)) {
            return configured;
        }
        if (!isSize) {
            throw new CorruptException(
                    largest.toString(),
                    size,
                    "the segment file has " + size + " bytes, expected a multiple of 4096 up to 1 GiB");
        }
        return (int) size;
    }

    /**
     * Deletes segment files that are longer than a segment. Before the first push such files hold nothing; later the
     * length of the largest file would be taken for the segment size.
     */
    public void deleteLonger(int segmentSize) throws IOException {
        boolean any = false;
        for (Path file : segments()) {
            any |= Files.size(file) > segmentSize && storage.delete(file);
        }
        if (any) {
            storage.syncDirectory(path);
        }
    }

    /**
     * Throws CorruptException unless a new queue may be created in a directory with a meta page that is missing or
     * unfinished: its records would overwrite those of existing segments.
     *
     * @param what the fault of the meta page
     */
    void checkNew(String what) throws IOException {
        for (Path file : segments()) {
            long at = firstByte(file);
            if (at >= 0) {
                throw new CorruptException(
                        meta().toString(),
                        0,
                        what + ", and " + file.getFileName() + " is not empty, from its byte " + at
                                + " on. In version 2, repair rebuilds the meta page. In version 1 the segments do not"
                                + " suffice: Satellite creates a new queue and overwrites them; to do the same, delete"
                                + " them");
            }
        }
        if (!config.text(ConfigKey.FORMAT_VERSION).equals("1")) {
            throw new CorruptException(
                    meta().toString(),
                    0,
                    what + "; Satellite takes that for a new queue, and so does this with format_version = 1");
        }
    }

    private long firstByte(Path file) throws IOException {
        try (DataFile open = storage.open(file, Storage.Mode.READ)) {
            return firstByte(open, 0, Long.MAX_VALUE);
        }
    }

    /** Index of the first byte that is not zero; -1 if none is before {@code to} or the end of the file. */
    static long firstByte(DataFile file, long from, long to) throws IOException {
        ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK);
        ByteBuffer zeros = ByteBuffer.allocateDirect(CHUNK);
        int count = CHUNK;
        for (long at = from; at < to && count == CHUNK; at += CHUNK) {
            count = file.read(chunk.clear().limit((int) Math.min(CHUNK, to - at)), at);
            int wrong = chunk.flip().mismatch(zeros.clear().limit(count));
            if (wrong >= 0) {
                return at + wrong;
            }
        }
        return -1;
    }
}
