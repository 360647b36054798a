package org.mmapqueue.meta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DiskStorage;

/** Satellite's meta file: values of Satellite's own tests are read back, and each is stored at the same byte. */
class MetaPageV1Test {
    private static final MetaFields FIELDS = new MetaFields(1, 500, 4096, 0, 0, false, 20_480, 0, 0);

    @TempDir
    Path temp;

    private MetaPageV1 open() throws IOException {
        return MetaPageV1.open(DiskStorage.INSTANCE, temp, FIELDS);
    }

    private ByteBuffer bytes() throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(temp.resolve("meta.dat"))).order(ByteOrder.LITTLE_ENDIAN);
    }

    @Test
    void valuesWrittenAreReadBack() throws IOException {
        MetaPageV1.create(DiskStorage.INSTANCE, temp, 500);
        try (MetaPageV1 page = open()) {
            page.watermark(2 * 4096 + 6);
            page.writing(3 * 4096 + 7);
            page.consumer().reading(4 * 4096 + 8);
            page.consumer().committed(5 * 4096 + 9);
            page.force();
        }
        try (MetaPageV1 page = open()) {
            assertEquals(2 * 4096 + 6, page.watermark());
            assertEquals(3 * 4096 + 7, page.writing());
            assertEquals(4 * 4096 + 8, page.consumer().reading());
            assertEquals(5 * 4096 + 9, page.consumer().committed());
            assertEquals(FIELDS, page.fields());
        }
        long[] expected = {1, 3, 7, 2, 6, 5, 9, 4, 8, 500};
        ByteBuffer bytes = bytes();
        assertEquals(80, bytes.capacity());
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], bytes.getLong(8 * i), "word " + i);
        }
    }

    @Test
    void aSegmentsEndIsStoredAsTheNextOnesBeginning() throws IOException {
        MetaPageV1.create(DiskStorage.INSTANCE, temp, 500);
        try (MetaPageV1 page = open()) {
            page.writing(4096);
            page.consumer().committed(4095);
        }
        assertEquals(1, bytes().getLong(8));
        assertEquals(0, bytes().getLong(16));
        assertEquals(0, bytes().getLong(40));
        assertEquals(4095, bytes().getLong(48));
    }

    @Test
    void itIsCleanWhenTheWatermarkIsAtTheEnd() throws IOException {
        MetaPageV1.create(DiskStorage.INSTANCE, temp, 500);
        try (MetaPageV1 page = open()) {
            assertTrue(page.clean());
            page.writing(10);
            assertEquals(false, page.clean());
            page.watermark(10);
            assertTrue(page.clean());
        }
    }

    @ParameterizedTest
    @CsvSource({"8, -1", "16, 4096", "24, 9223372036854775807", "32, -1", "40, -5", "48, 5000", "56, -1", "64, 4096"})
    void aPositionOutsideOfItsSegmentIsRefused(int at, long value) throws IOException {
        MetaPageV1.create(DiskStorage.INSTANCE, temp, 500);
        Files.write(temp.resolve("meta.dat"), bytes().putLong(at, value).array());
        CorruptException refused = assertThrows(CorruptException.class, this::open);
        assertEquals(8 + (at - 8) / 16 * 16, refused.position());
    }

    @Test
    void anotherLengthIsRefused() throws IOException {
        for (int length : new int[] {0, 79, 81, 4096}) {
            Files.write(temp.resolve("meta.dat"), new byte[length]);
            CorruptException refused = assertThrows(CorruptException.class, this::open);
            assertTrue(refused.getMessage().contains(length + " bytes, expected 80"), refused.getMessage());
        }
    }
}
