package org.mmapqueue.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.Mapping;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;

/** A segment's header: as the writer stores it into a mapping, and as the tools read it from a file. */
class SegmentHeaderTest {
    private static final int SIZE = 4096;
    private static final UUID QUEUE = new UUID(0x1122_3344_5566_7788L, 0x99AA_BBCC_DDEE_FF00L);
    private static final Geometry RING = new Geometry(Format.V2, SIZE, 16);
    private static final SegmentHeader HEADER =
            new SegmentHeader(QUEUE, 7, 3, 1234, 1_700_000_000_000_000L, SIZE, 16, 72);

    @TempDir
    Path temp;

    private DataFile file;
    private Mapping mapping;
    private Segment segment;

    @BeforeEach
    void write() throws IOException {
        file = DiskStorage.INSTANCE.open(temp.resolve("7_segment.dat"), Storage.Mode.CREATE);
        file.zeroFill(SIZE, SIZE);
        mapping = file.mapToUnmap(SIZE, true);
        segment = new Segment(7, temp.resolve("7_segment.dat"), mapping.bytes());
        segment.writeHeader(QUEUE, 16, 3, 1234, 1_700_000_000_000_000L, 72);
    }

    @AfterEach
    void close() throws IOException {
        mapping.unmap();
        file.close();
    }

    private ByteBuffer bytes() {
        byte[] header = new byte[SegmentHeader.LENGTH];
        segment.get(0, header, 0, header.length);
        return ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
    }

    // Right by its checksum: only a foreign or a faulty writer makes one.
    private void forge(int at, long value, int width) {
        ByteBuffer bytes = bytes();
        if (width == Integer.BYTES) {
            bytes.putInt(at, (int) value);
        } else {
            bytes.putLong(at, value);
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes.array(), 0, 60);
        bytes.putInt(60, (int) crc.getValue());
        segment.put(0, bytes.array(), 0, SegmentHeader.LENGTH);
    }

    private Mismatch wrong() {
        Mismatch wrong = SegmentHeader.check(bytes());
        return wrong != null ? wrong : SegmentHeader.decode(bytes()).check(QUEUE, 7, RING);
    }

    /** Bytes as docs/reference/format.md says. */
    @Test
    void theLayoutIsTheDocumentedOneInBothWays() {
        ByteBuffer bytes = bytes();
        assertEquals("MQS2", new String(bytes.array(), 0, 4, StandardCharsets.US_ASCII));
        assertEquals(3, bytes.getInt(4));
        assertEquals(QUEUE.getMostSignificantBits(), bytes.getLong(8));
        assertEquals(QUEUE.getLeastSignificantBits(), bytes.getLong(16));
        assertEquals(7, bytes.getLong(24));
        assertEquals(1234, bytes.getLong(32));
        assertEquals(1_700_000_000_000_000L, bytes.getLong(40));
        assertEquals(SIZE, bytes.getInt(48));
        assertEquals(16, bytes.getInt(52));
        assertEquals(72, bytes.getInt(56));
        CRC32C crc = new CRC32C();
        crc.update(bytes.array(), 0, 60);
        assertEquals((int) crc.getValue(), bytes.getInt(60));
        assertEquals(HEADER, SegmentHeader.decode(bytes));
        assertEquals(bytes, HEADER.encode());
        assertNull(segment.headerFault(QUEUE, RING));
        assertNull(wrong());
        assertEquals(
                HEADER,
                new SegmentHeader(
                        QUEUE,
                        segment.id(),
                        segment.epoch(),
                        segment.baseOffset(),
                        segment.baseTime(),
                        SIZE,
                        16,
                        segment.firstRecord()));
    }

    @Test
    void everyFlippedBitIsFound() {
        for (int bit = 0; bit < 8 * SegmentHeader.LENGTH; bit++) {
            ByteBuffer bytes = bytes();
            byte[] flipped = {(byte) (bytes.get(bit / 8) ^ 1 << bit % 8)};
            segment.put(bit / 8, flipped, 0, 1);
            boolean isMagic = bit < 32;
            Mismatch wrong = SegmentHeader.check(bytes());
            assertEquals(isMagic ? 0 : 60, wrong.at(), "bit " + bit);
            assertTrue(wrong.toString().contains(isMagic ? "magic" : "checksum"), wrong.toString());
            assertTrue(segment.headerFault(QUEUE, RING).contains(isMagic ? "magic" : "checksum"), "bit " + bit);
            segment.put(bit / 8, bytes.array(), bit / 8, 1);
        }
        assertNull(segment.headerFault(QUEUE, RING));
    }

    @ParameterizedTest
    @CsvSource({
        "8, 8, 5, queue",
        "48, 4, 8192, ring",
        "52, 4, 17, ring",
        "24, 8, 8, segment id",
        "24, 8, 6, segment id",
        "56, 4, 56, first record",
        "56, 4, 8, first record",
        "56, 4, 65, first record",
        "56, 4, 4096, first record",
        "56, 4, -8, first record"
    })
    void whatIsWholeMayStillBeWrong(int at, int width, long value, String word) {
        forge(at, value, width);
        Mismatch wrong = wrong();
        assertEquals(at == 52 ? 48 : at, wrong.at());
        assertTrue(wrong.toString().contains(word), wrong.toString());
        String fault = segment.headerFault(QUEUE, RING);
        assertNotNull(fault);
        assertTrue(fault.contains(word), fault);
    }

    @Test
    void aSegmentOfThePreviousVersionIsNamed() {
        segment.put(0, "MMAPQSG2".getBytes(StandardCharsets.US_ASCII), 0, 8);
        assertTrue(wrong().toString().contains("a segment of version 1.0.0rc1"), wrong().toString());
    }

    @ParameterizedTest
    @CsvSource({"0", "64", "4088"})
    void theFirstRecordMayBeginAnywhere(int first) {
        forge(56, first, Integer.BYTES);
        assertNull(wrong());
        assertNull(segment.headerFault(QUEUE, RING));
    }

    @ParameterizedTest
    @CsvSource({
        "4, 4, 0, false",
        "4, 4, -1, false",
        "4, 4, 2147483647, true",
        "32, 8, -1, false",
        "32, 8, 0, true",
        "40, 8, -1000, false",
        "40, 8, 1, false",
        "40, 8, 1000, true"
    })
    void epochsBeginWithOneAndOffsetsWithZero(int at, int width, long value, boolean isRight) {
        forge(at, value, width);
        assertEquals(isRight, wrong() == null);
    }

    @Test
    void emptyIsAllZerosAndAWipedHeaderIsEmpty() {
        segment.putLong(SegmentHeader.LENGTH, 99);
        assertFalse(SegmentHeader.isEmpty(bytes()));
        segment.zero(0, SegmentHeader.LENGTH);
        assertTrue(SegmentHeader.isEmpty(bytes()));
        assertEquals(99, segment.getLong(SegmentHeader.LENGTH));
        assertNotNull(segment.headerFault(QUEUE, RING));
        for (int at = 0; at < SegmentHeader.LENGTH; at++) {
            segment.put(at, new byte[] {1}, 0, 1);
            assertFalse(SegmentHeader.isEmpty(bytes()), "byte " + at);
            segment.put(at, new byte[1], 0, 1);
        }
    }

    @Test
    void zerosGoOverWholeWordsAndNoFurther() {
        for (int at = 64; at < 128; at += 8) {
            segment.putLong(at, -1);
        }
        segment.zero(72, 112);
        for (int at = 64; at < 128; at += 8) {
            assertEquals(at >= 72 && at < 112 ? 0 : -1, segment.getLong(at), "word at " + at);
        }
    }
}
