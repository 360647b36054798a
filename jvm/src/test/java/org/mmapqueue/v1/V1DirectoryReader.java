package org.mmapqueue.v1;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.support.Directories;

/**
 * Reads a version 1 directory as Satellite does after an open, made from the description of the format alone
 * (tests/data/v1-samples/README.md): reading := committed, writing := `watermark`, and pop until they are exactly equal.
 */
final class V1DirectoryReader {
    private final Path directory;
    private final int segmentSize;
    final ByteBuffer meta;

    V1DirectoryReader(Path directory, int segmentSize) {
        this.directory = directory;
        this.segmentSize = segmentSize;
        byte[] bytes = Directories.read(directory.resolve("meta.dat"));
        assertEquals(80, bytes.length, "length of meta.dat");
        this.meta = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(1, meta.getLong(0), "version");
    }

    long capacity() {
        return meta.getLong(72);
    }

    /** A cursor as (id, offset): 8 writing, 24 `watermark`, 40 committed, 56 reading. */
    List<Long> cursor(int at) {
        assertTrue(meta.getLong(at + 8) >= 0 && meta.getLong(at + 8) < segmentSize, "offset < segment size");
        return List.of(meta.getLong(at), meta.getLong(at + 8));
    }

    List<Long> writing() {
        return cursor(8);
    }

    List<Long> watermark() {
        return cursor(24);
    }

    List<Long> committed() {
        return cursor(40);
    }

    List<Long> reading() {
        return cursor(56);
    }

    private byte[] segment(long id) {
        byte[] bytes = Directories.read(directory.resolve(id % capacity() + "_segment.dat"));
        assertEquals(segmentSize, bytes.length, "size of the file of segment " + id);
        return bytes;
    }

    /** What Satellite pops, from committed up to the recovery point. */
    List<byte[]> pop() {
        List<byte[]> records = new ArrayList<>();
        long id = committed().get(0);
        int offset = committed().get(1).intValue();
        long endId = watermark().get(0);
        long endOffset = watermark().get(1);
        while (id != endId || offset != endOffset) {
            assertTrue(id < endId || id == endId && offset < endOffset, "reading ran past writing");
            if (offset + 8 > segmentSize) {
                id++;
                offset = 0;
            }
            long length =
                    ByteBuffer.wrap(segment(id)).order(ByteOrder.LITTLE_ENDIAN).getLong(offset);
            assertTrue(
                    length >= 0 && length <= capacity() * segmentSize, "length " + length + " at " + id + "-" + offset);
            offset += 8;
            byte[] record = new byte[(int) length];
            int done = 0;
            while (done < length) {
                if (offset == segmentSize) {
                    id++;
                    offset = 0;
                }
                int piece = Math.min(record.length - done, segmentSize - offset);
                System.arraycopy(segment(id), offset, record, done, piece);
                done += piece;
                offset += piece;
            }
            if (offset == segmentSize) { // stored as the next segment's beginning
                id++;
                offset = 0;
            }
            records.add(record);
        }
        return records;
    }
}
