package org.mmapqueue.recovery;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks that a closed log ends where its meta page says, and that zeros follow up to the segment's end: the appender
 * does not zero-fill, and a reader takes other bytes for a record. After a loss of power other bytes may follow, which
 * were never fsynced; they are wiped. An intact record there shows that the meta page is older than the segments: the
 * open fails. For a queue that is not open for writing yet.
 *
 * @param reader a reader without a published position; the check moves its position, and leaves nothing pinned
 */
public record LogEndCheck(Storage storage, Path directory, LogReaderV2 reader) {
    private static final Logger LOG = LoggerFactory.getLogger(LogEndCheck.class);

    /**
     * Checks the log end, and wipes the bytes after it.
     *
     * @param position the log end
     * @param nextOffset the offset of the next record
     * @throws CorruptException when the next record begins there
     */
    public void run(long position, long nextOffset) throws IOException {
        long id = geometry().segmentOfEnd(position);
        if (position > 0 && geometry().byteOfEnd(position) < geometry().segmentSize()) {
            int from = geometry().byteOfEnd(position);
            long found = firstByte(id, from);
            if (found >= 0) {
                checkNoRecord(position, nextOffset);
                wipe(id, from);
                LOG.warn(
                        "{}: bytes after the end of the log, from byte {} on, are wiped: a loss of power may leave"
                                + " them",
                        path(id),
                        found);
            }
        } else {
            checkNext(id + 1, id < 0 ? 0 : SegmentHeader.decode(look(id)).epoch());
        }
    }

    private Geometry geometry() {
        return reader.geometry();
    }

    private Path path(long id) {
        return directory.resolve(geometry().fileName(id));
    }

    // Index of the first byte that is not zero; -1 for none.
    private long firstByte(long id, int from) throws IOException {
        int size = geometry().segmentSize();
        try (DataFile file = storage.open(path(id), Storage.Mode.READ)) {
            long found = DirectoryV1.firstByte(file, from, size);
            if (found < 0 && file.size() < size) {
                throw new CorruptException(
                        path(id).toString(),
                        Math.max(from, file.size()),
                        "the segment file ends here, expected " + size + " bytes");
            }
            return found;
        }
    }

    private void checkNoRecord(long position, long nextOffset) throws IOException {
        reader.moveTo(position);
        reader.expect(nextOffset);
        try {
            if (!reader.nextHere(geometry().segmentSize())) {
                return;
            }
            reader.check();
        } catch (CorruptException e) {
            return;
        } finally {
            reader.leave();
        }
        throw new CorruptException(
                path(geometry().segmentOfEnd(position)).toString(),
                geometry().byteOfEnd(position),
                "found a record, expected the end of the log before it: meta.dat is older than the segments");
    }

    private void wipe(long id, int from) throws IOException {
        Swapper swapper = reader.swapper();
        Segment segment = swapper.pin(id);
        try {
            segment.zero(from, geometry().segmentSize());
        } finally {
            swapper.unpin(segment);
        }
        swapper.force(id, from, geometry().segmentSize());
    }

    // Throws if the next segment holds a record. A segment that an earlier recovery has cut off has a lower epoch
    // and does not count; nor does a header without a record.
    private void checkNext(long id, long epoch) throws IOException {
        ByteBuffer head = look(id);
        SegmentHeader header = SegmentHeader.decode(head);
        if (SegmentHeader.check(head) == null
                && header.check(reader.queue(), id, geometry()) == null
                && header.epoch() >= epoch
                && head.getLong(SegmentHeader.LENGTH) != 0) {
            throw new CorruptException(
                    path(id).toString(),
                    SegmentHeader.LENGTH,
                    "found a record in segment " + id
                            + ", expected the end of the log before it: meta.dat is older than the segments");
        }
    }

    // Reads the beginning of a segment; zeros when the file is missing.
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
