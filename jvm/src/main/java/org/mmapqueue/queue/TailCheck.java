package org.mmapqueue.queue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Looks whether a closed log ends where its meta page says: nothing but zeros up to the segment's end, and no segment
 * that goes on from there. Records are stored behind the end without wiping it first, and a reader takes what is not
 * zero behind the last one for a record; so a bit that has flipped there, or a meta page that is older than the
 * segments, must be found before anything is pushed.
 */
final class TailCheck {
    private static final int CHUNK = 256 * 1024;

    private final Storage storage;
    private final Path directory;
    private final Geometry geometry;
    private final long uuidLow;

    TailCheck(Storage storage, Path directory, Geometry geometry, long uuidLow) {
        this.storage = storage;
        this.directory = directory;
        this.geometry = geometry;
        this.uuidLow = uuidLow;
    }

    /**
     * Looks.
     *
     * @param position the end of the log
     * @throws CorruptException with the place of the first byte behind the end that should not be there
     */
    void run(long position) throws IOException {
        long id = geometry.segmentOfEnd(position);
        if (position > 0 && geometry.offsetOfEnd(position) < geometry.segmentSize()) {
            checkZeros(id, geometry.offsetOfEnd(position));
        } else {
            checkNext(id + 1, id < 0 ? 0 : SegmentHeader.decode(look(id)).epoch());
        }
    }

    private Path path(long id) {
        return directory.resolve(geometry.fileName(id));
    }

    private void checkZeros(long id, int from) throws IOException {
        ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK);
        ByteBuffer zeros = ByteBuffer.allocateDirect(CHUNK);
        try (DataFile file = storage.open(path(id), Storage.Mode.READ)) {
            int at = from;
            while (at < geometry.segmentSize()) {
                chunk.clear().limit(Math.min(CHUNK, geometry.segmentSize() - at));
                int count = file.read(chunk, at);
                if (count <= 0) {
                    throw new CorruptException(path(id).toString(), at, "the segment file ends here, expected "
                            + geometry.segmentSize() + " bytes");
                }
                int wrong = chunk.flip().mismatch(zeros.clear().limit(count));
                if (wrong >= 0) {
                    throw new CorruptException(path(id).toString(), at + wrong, "found 0x"
                            + Integer.toHexString(chunk.get(wrong) & 0xFF) + " behind the end of the log at byte "
                            + from + ", expected zeros up to the segment's end: the byte is damaged, or meta.dat is older than"
                            + " the segments");
                }
                at += count;
            }
        }
    }

    // What was stranded there by a recovery is older than the log's last segment; a header alone is no record.
    private void checkNext(long id, long epoch) throws IOException {
        ByteBuffer head = look(id);
        SegmentHeader header = SegmentHeader.decode(head);
        if (SegmentHeader.check(head) == null && header.check(uuidLow, id, geometry.segmentSize()) == null
                && header.epoch() >= epoch && head.getLong(SegmentHeader.LENGTH) != 0) {
            throw new CorruptException(path(id).toString(), SegmentHeader.LENGTH, "found a record in segment " + id
                    + ", expected the end of the log before it: meta.dat is older than the segments");
        }
    }

    // Zeros where there is no file.
    private ByteBuffer look(long id) throws IOException {
        ByteBuffer head = ByteBuffer.allocate(SegmentHeader.LENGTH + Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (DataFile file = storage.open(path(id), Storage.Mode.READ)) {
            file.read(head, 0);
        } catch (NoSuchFileException e) {
            return head;
        }
        return head;
    }
}
