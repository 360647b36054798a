package org.mmapqueue.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RecordDescriptorTest {
    private static final int[] FLAGS = {
        RecordDescriptor.BATCH,
        RecordDescriptor.CONTROL,
        RecordDescriptor.TIMESTAMPED,
        RecordDescriptor.PAD,
        RecordDescriptor.RESERVED
    };

    @Test
    void flagsAndLengthShareAWordAndDoNotOverlap() {
        int all = RecordDescriptor.MAX_LENGTH;
        for (int flag : FLAGS) {
            assertEquals(1, Integer.bitCount(flag));
            assertEquals(0, all & flag);
            all |= flag;
        }
        assertEquals(-1, all);
        assertEquals((1 << 27) - 1, RecordDescriptor.MAX_LENGTH);
    }

    @Test
    void aHeaderHasTheLengthFlagsAndChecksumThatItWasMadeOf() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 1000; i++) {
            int word = random.nextInt();
            int checksum = random.nextInt();
            long header = RecordDescriptor.header(word, checksum);
            assertEquals(word, RecordDescriptor.lengthAndFlags(header));
            assertEquals(checksum, RecordDescriptor.checksum(header));
            assertEquals(word & RecordDescriptor.MAX_LENGTH, RecordDescriptor.length(word));
        }
        // The low half is first on the disk.
        assertEquals(0x1122_3344_0000_0005L, RecordDescriptor.header(5, 0x1122_3344));
        assertEquals(0x0000_0001_8000_0000L, RecordDescriptor.header(RecordDescriptor.RESERVED, 1));
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "1, 8", "7, 8", "8, 8", "9, 16", "134217727, 134217728"})
    void bodiesAreMultiplesOfEight(int length, int bytes) {
        assertEquals(bytes, RecordDescriptor.bodyBytes(length));
        assertEquals(bytes, RecordDescriptor.bodyBytes(length | RecordDescriptor.BATCH));
        assertEquals(bytes + 8, RecordDescriptor.bodyBytes(length | RecordDescriptor.TIMESTAMPED));
    }

    @Test
    void theChecksumDependsOnEverything() {
        byte[] payload = {1, 2, 3};
        RecordChecksum checksum = new RecordChecksum(1, 2);
        int base = checksum.finish(crc(payload), 3, 4, 64, 3, 5);
        assertEquals(base, checksum.finish(crc(payload), 3, 4, 64, 3, 5));
        List<Integer> others = List.of(
                checksum.finish(crc(new byte[] {1, 2, 4}), 3, 4, 64, 3, 5),
                checksum.finish(crc(payload), 4, 4, 64, 3, 5),
                checksum.finish(crc(payload), 3, 5, 64, 3, 5),
                checksum.finish(crc(payload), 3, 4, 72, 3, 5),
                checksum.finish(crc(payload), 3, 4, 64, 4, 5),
                checksum.finish(crc(payload), 3, 4, 64, 3 | RecordDescriptor.BATCH, 5),
                checksum.finish(crc(payload), 3, 4, 64, 3, 6),
                new RecordChecksum(2, 2).finish(crc(payload), 3, 4, 64, 3, 5),
                new RecordChecksum(1, 1).finish(crc(payload), 3, 4, 64, 3, 5));
        for (int other : others) {
            assertNotEquals(base, other);
        }
        assertEquals(others.size(), others.stream().distinct().count());
    }

    /** CRCs are linear: a timestamp for which the sum comes out as 0 follows from 33 others. */
    @Test
    void theChecksumIsNeverZero() {
        int[] columns = new int[32];
        int constant = raw(0);
        for (int bit = 0; bit < 32; bit++) {
            columns[bit] = raw(1L << bit) ^ constant;
        }
        long timestamp = solve(columns, constant);
        assertEquals(0, raw(timestamp));
        assertEquals(-1, new RecordChecksum(1, 2).finish(new CRC32C(), 3, 4, 64, 0, timestamp));
    }

    /** The same sum, made by hand. */
    private static int raw(long timestamp) {
        ByteBuffer identity = ByteBuffer.allocate(48).order(ByteOrder.LITTLE_ENDIAN);
        identity.putLong(1)
                .putLong(2)
                .putLong(3)
                .putLong(4)
                .putInt(64)
                .putInt(0)
                .putLong(timestamp);
        return (int) crc(identity.array()).getValue();
    }

    // Which columns, added up, give the target: elimination over single bits.
    private static long solve(int[] columns, int target) {
        int[] rows = columns.clone();
        long[] parts = new long[32];
        for (int i = 0; i < 32; i++) {
            parts[i] = 1L << i;
        }
        long solution = 0;
        int rest = target;
        for (int bit = 0; bit < 32; bit++) {
            int pivot = bit;
            while (pivot < 32 && (rows[pivot] >>> bit & 1) == 0) {
                pivot++;
            }
            assertTrue(pivot < 32, "the columns are independent");
            int row = rows[pivot];
            long part = parts[pivot];
            rows[pivot] = rows[bit];
            parts[pivot] = parts[bit];
            rows[bit] = row;
            parts[bit] = part;
            for (int i = 0; i < 32; i++) {
                if (i != bit && (rows[i] >>> bit & 1) != 0) {
                    rows[i] ^= row;
                    parts[i] ^= part;
                }
            }
            if ((rest >>> bit & 1) != 0) {
                rest ^= row;
                solution ^= part;
            }
        }
        assertEquals(0, rest);
        return solution;
    }

    private static CRC32C crc(byte[] payload) {
        CRC32C crc = new CRC32C();
        crc.update(payload);
        return crc;
    }
}
