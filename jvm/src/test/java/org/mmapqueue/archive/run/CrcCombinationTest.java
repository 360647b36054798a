package org.mmapqueue.archive.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.zip.CRC32C;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** The CRC of two parts together is that of their concatenation. */
class CrcCombinationTest {
    @Property
    void combinesAsIfRead(@ForAll byte[] left, @ForAll byte[] right) {
        assertEquals(crc(left, right), CrcCombination.of(crc(left), crc(right), right.length));
    }

    @Property
    void combinesInAnyOrder(@ForAll int a, @ForAll int b, @ForAll int c, @ForAll long left, @ForAll long right) {
        long second = left & Long.MAX_VALUE >>> 1;
        long third = right & Long.MAX_VALUE >>> 1;
        assertEquals(
                CrcCombination.of(CrcCombination.of(a, b, second), c, third),
                CrcCombination.of(a, CrcCombination.of(b, c, third), second + third));
    }

    private static int crc(byte[]... parts) {
        CRC32C crc = new CRC32C();
        for (byte[] part : parts) {
            crc.update(part);
        }
        return (int) crc.getValue();
    }
}
