package org.mmapqueue.surface;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.support.Directories;

/** Where the segment files of a closed queue have its records. Offsets are below the bits that a record stores. */
final class StoredRecords {
    /** The bytes of a segment's header that its checksum covers. */
    static final int HEADER = 64;

    private StoredRecords() {}

    /**
     * A record in a segment file.
     *
     * @param at the byte at which it begins
     * @param bytes the bytes of header, second word and payload in this file
     */
    record Stored(Path segment, int at, int bytes) {}

    /** Finds a record; null if it is not in the ring, or its second word is in the next segment. */
    static @Nullable Stored find(Path directory, int offset) throws IOException {
        MetaImage meta = MetaImage.read(DiskStorage.INSTANCE, directory);
        int size = meta.fields().segmentSize();
        for (Path segment : Directories.segments(directory)) {
            ByteBuffer bytes = ByteBuffer.wrap(Directories.read(segment)).order(ByteOrder.LITTLE_ENDIAN);
            long begin = SegmentHeader.decode(bytes).id() * size;
            if (begin + size <= meta.get(Word.RECLAIMED) || begin >= meta.get(Word.WRITING)) {
                continue;
            }
            for (int at : RecordPositions.of(segment)) {
                int header = bytes.getInt(at);
                boolean isRecord = header != 0 && (header & (RecordDescriptor.PAD | RecordDescriptor.CONTROL)) == 0;
                if (isRecord
                        && begin + at < meta.get(Word.WRITING)
                        && at + RecordDescriptor.HEADER < size
                        && (bytes.getLong(at + RecordDescriptor.HEADER) & RecordDescriptor.OFFSET_MASK) == offset) {
                    int length = RecordDescriptor.SMALLEST + RecordDescriptor.length(header);
                    return new Stored(segment, at, Math.min(length, size - at));
                }
            }
        }
        return null;
    }
}
