package org.mmapqueue.meta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DiskStorage;

class MetaPageV2Test {
    private static final MetaFields FIELDS = new MetaFields(
            2, 500, 8192, 0x1122_3344_5566_7788L, 0x99AA_BBCC_DDEE_FF00L, true, 20_480, 1_700_000_000_000_000L, 3);

    @TempDir
    Path temp;

    private Path file() {
        return temp.resolve("meta.dat");
    }

    private ByteBuffer bytes() throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(file())).order(ByteOrder.LITTLE_ENDIAN);
    }

    private MetaPageV2 create() throws IOException {
        MetaPageV2.create(DiskStorage.INSTANCE, temp, FIELDS);
        return open();
    }

    private MetaPageV2 open() throws IOException {
        return MetaPageV2.open(DiskStorage.INSTANCE, temp);
    }

    @Test
    void aNewPageIsThatOfAnEmptyClosedQueue() throws IOException {
        try (MetaPageV2 page = create()) {
            assertEquals(FIELDS, page.fields());
            assertEquals(0, page.writing() + page.watermark());
            assertTrue(page.clean());
        }
        assertFalse(Files.exists(temp.resolve("meta.dat.new")));
    }

    @Test
    void valuesWrittenAreReadBack() throws IOException {
        try (MetaPageV2 page = create()) {
            page.writing(3 * 8192 + 9);
            page.watermark(2 * 8192 + 6);
            page.clean(false);
        }
        try (MetaPageV2 page = open()) {
            assertEquals(3 * 8192 + 9, page.writing());
            assertEquals(2 * 8192 + 6, page.watermark());
            assertFalse(page.clean());
            page.clean(true);
        }
        try (MetaPageV2 page = open()) {
            assertTrue(page.clean());
        }
    }

    /** Bytes as docs/reference/format.md says. */
    @Test
    void theLayoutIsTheDocumentedOne() throws IOException {
        try (MetaPageV2 page = create()) {
            page.writing(3 * 8192 + 9);
            page.watermark(2 * 8192 + 6);
            page.mirror();
            page.force();
        }
        ByteBuffer bytes = bytes();
        assertEquals(4096, bytes.capacity());
        long[] table = {2, 3, 9, 2, 6, 0, 0, 0, 0, 500};
        for (int i = 0; i < table.length; i++) {
            assertEquals(table[i], bytes.getLong(i * 8), "word " + i);
        }
        assertEquals("MMAPQME2", new String(bytes.array(), 80, 8, StandardCharsets.US_ASCII));
        assertEquals(FIELDS.uuidHigh(), bytes.getLong(88));
        assertEquals(FIELDS.uuidLow(), bytes.getLong(96));
        assertEquals(8192, bytes.getLong(104));
        assertEquals(1, bytes.getInt(112));
        assertEquals(20_480, bytes.getLong(120));
        assertEquals(FIELDS.createdAtMicros(), bytes.getLong(128));
        assertEquals(3, bytes.getLong(136));
        CRC32C crc = new CRC32C();
        crc.update(bytes.array(), 72, 144 - 72);
        assertEquals((int) crc.getValue(), bytes.getInt(144));
        assertEquals("CLEAN", new String(bytes.array(), 256, 5, StandardCharsets.US_ASCII));
        assertEquals(3 * 8192 + 9, bytes.getLong(512));
        assertEquals(2 * 8192 + 6, bytes.getLong(576));
    }

    @Test
    void theFactsCanBeReplaced() throws IOException {
        MetaFields next = FIELDS.withEpoch(4).withSettings(false, 30_000);
        try (MetaPageV2 page = create()) {
            page.writing(77);
            page.fields(next);
            assertEquals(next, page.fields());
            assertEquals(77, page.writing());
        }
        try (MetaPageV2 page = open()) {
            assertEquals(next, page.fields());
            assertEquals(4, page.fields().epoch());
            assertEquals(77, page.writing());
        }
    }

    /** It counts for the log end that it was stored with alone: a loss of power may bring back one without the other. */
    @Test
    void theOffsetAtTheCloseCountsWithItsLogEndAlone() throws IOException {
        try (MetaPageV2 page = create()) {
            page.writing(3 * 8192 + 9);
            page.closedAt(55, 7);
            assertEquals(55, page.closedAt());
            page.writing(3 * 8192 + 17);
            assertEquals(-1, page.closedAt());
            page.writing(3 * 8192 + 9);
            assertEquals(55, page.closedAt());
            assertEquals(7, page.closedTime());
        }
        for (int at = MetaDescriptor.CLOSED_AT; at < MetaDescriptor.CLOSED_CHECKSUM + 8; at++) {
            byte before = bytes().get(at);
            change(at, before ^ 1);
            try (MetaPageV2 page = open()) {
                assertEquals(-1, page.closedAt(), "byte " + at);
            }
            change(at, before);
        }
        try (MetaPageV2 page = open()) {
            assertEquals(55, page.closedAt());
            page.closedAt(-2, 7);
            assertEquals(-1, page.closedAt());
        }
    }

    @Test
    void aSecondMappingSeesTheCursorsMove() throws IOException {
        try (MetaPageV2 page = create();
                MetaPageV2 other = open()) {
            page.writing(11);
            other.reclaimed(12);
            assertEquals(11, other.writing());
            assertEquals(12, page.reclaimed());
        }
    }

    private void assertRefused(int position, String... words) {
        CorruptException refused = assertThrows(CorruptException.class, this::open);
        assertEquals(file().toString(), refused.file());
        assertEquals(position, refused.position());
        for (String word : words) {
            assertTrue(refused.getMessage().contains(word), refused.getMessage());
        }
    }

    private void change(int at, int value) throws IOException {
        byte[] bytes = Files.readAllBytes(file());
        bytes[at] = (byte) value;
        Files.write(file(), bytes);
    }

    @Test
    void damageIsRefusedWithWhatWasFoundAndExpected() throws IOException {
        create().close();
        change(81, 'm');
        assertRefused(80, "magic", "expected");
        change(81, 'M');
        open().close();
        for (int at : new int[] {72, 88, 104, 112, 120, 128, 136, 144}) {
            byte before = Files.readAllBytes(file())[at];
            change(at, before + 1);
            assertRefused(144, "checksum", "expected");
            change(at, before);
        }
        open().close();
    }

    /** Right by its checksum: only a foreign or a faulty writer makes one. */
    @ParameterizedTest
    @CsvSource({
        "72, 1",
        "72, 1073741825",
        "72, -1",
        "104, 0",
        "104, 4095",
        "104, 4100",
        "104, 1073745920",
        "104, 17179869184",
        "120, 0",
        "120, 134217728",
        "120, -9223372036854775808",
        "136, 0",
        "136, -1"
    })
    void factsOutOfRangeAreRefused(int at, long value) throws IOException {
        create().close();
        ByteBuffer bytes = bytes();
        bytes.putLong(at, value);
        CRC32C crc = new CRC32C();
        crc.update(bytes.array(), 72, 144 - 72);
        bytes.putInt(144, (int) crc.getValue());
        Files.write(file(), bytes.array());
        assertRefused(at, Long.toString(value), "expected");
    }

    @Test
    void anotherLengthIsRefused() throws IOException {
        create().close();
        byte[] whole = Files.readAllBytes(file());
        Files.write(file(), Arrays.copyOf(whole, 4095));
        assertRefused(4095, "4095", "expected 4096");
        Files.write(file(), Arrays.copyOf(whole, 4097));
        assertRefused(4097, "4097", "expected 4096");
        Files.write(file(), Arrays.copyOf(whole, 80));
        assertRefused(80, "Satellite");
        Files.delete(file());
        assertThrows(NoSuchFileException.class, this::open);
    }
}
