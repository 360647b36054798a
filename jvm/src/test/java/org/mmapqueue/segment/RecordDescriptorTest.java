package org.mmapqueue.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
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
    @CsvSource({"0, 8", "1, 16", "7, 16", "8, 16", "9, 24", "134217727, 134217736"})
    void bodiesAreMultiplesOfEight(int length, int bytes) {
        assertEquals(bytes, RecordDescriptor.bodyBytes(length));
        assertEquals(bytes, RecordDescriptor.bodyBytes(length | RecordDescriptor.BATCH));
        assertEquals(bytes, RecordDescriptor.bodyBytes(length | RecordDescriptor.TIMESTAMPED));
    }

    @Test
    void theSecondWordHasTheLowestBitsOfOffsetAndTime() {
        long base = 1_700_000_000_000_000L;
        long most = (1L << 38) - 1;
        for (long least : new long[] {0, 5, (1L << 26) - 1, 1L << 40}) {
            for (long number : new long[] {0, 1, (1L << 26) - 1}) {
                long offset = least + number;
                for (long millis : new long[] {0, 1, most}) {
                    long timestamp = base + millis * 1000;
                    long second = RecordDescriptor.second(offset, timestamp);
                    assertEquals(offset & (1L << 26) - 1, second & (1L << 26) - 1);
                    assertEquals(timestamp / 1000 & most, second >>> 26);
                    assertEquals(offset, RecordDescriptor.offset(second, least));
                    assertEquals(timestamp, RecordDescriptor.timestamp(RecordDescriptor.TIMESTAMPED, second, base));
                }
                assertEquals(offset & (1L << 26) - 1, RecordDescriptor.second(offset, 0));
                assertEquals(0, RecordDescriptor.timestamp(0, RecordDescriptor.second(offset, 0), base));
            }
        }
        assertEquals(base + most * 1000, RecordDescriptor.storable(base + (most + 1) * 1000, base));
        assertEquals(base + most * 1000, RecordDescriptor.storable(base + most * 1000, base));
        // Bits that must be 0 become part of the identity: the checksum fails.
        assertEquals(5, RecordDescriptor.timestamp(0, 5L << 26 | 7, base));
    }

    @Test
    void theChecksumDependsOnEverything() {
        byte[] payload = {1, 2, 3};
        RecordChecksum checksum = new RecordChecksum(new UUID(1, 2));
        int base = checksum.finish(crc(payload), 3, 5, 3);
        assertEquals(base, checksum.finish(crc(payload), 3, 5, 3));
        List<Integer> others = List.of(
                checksum.finish(crc(new byte[] {1, 2, 4}), 3, 5, 3),
                checksum.finish(crc(payload), 4, 5, 3),
                checksum.finish(crc(payload), 3, 6, 3),
                checksum.finish(crc(payload), 3, 5, 4),
                checksum.finish(crc(payload), 3, 5, 3 | RecordDescriptor.BATCH),
                checksum.finish(crc(payload), 3, 5, 3 | RecordDescriptor.RESERVED),
                new RecordChecksum(new UUID(2, 2)).finish(crc(payload), 3, 5, 3),
                new RecordChecksum(new UUID(1, 1)).finish(crc(payload), 3, 5, 3));
        for (int other : others) {
            assertNotEquals(base, other);
        }
        assertEquals(others.size(), others.stream().distinct().count());
    }

    /** CRCs are linear: a payload for which the checksum comes out as 0 follows from 33 others. */
    @Test
    void theChecksumIsNeverZero() {
        RecordChecksum checksum = new RecordChecksum(new UUID(1, 2));
        int constant = crcOf(0);
        int[] columns = new int[32];
        for (int bit = 0; bit < 32; bit++) {
            columns[bit] = crcOf(1 << bit) ^ constant;
        }
        int hash = checksum.finish(new CRC32C(), 3, 5, 4); // the CRC of no payload is 0
        int payload = (int) solve(columns, constant ^ hash);
        assertEquals(hash, crcOf(payload));
        assertEquals(-1, checksum.finish(crc(bytes(payload)), 3, 5, 4));
    }

    /** Other languages compute the same values. */
    @Test
    void theChecksumIsThatOfTheFormat() {
        UUID queue = UUID.fromString("01234567-89ab-cdef-fedc-ba9876543210");
        RecordChecksum checksum = new RecordChecksum(queue);
        byte[] payload = "123456789".getBytes(StandardCharsets.US_ASCII);
        int flags = RecordDescriptor.TIMESTAMPED | payload.length;
        assertEquals(
                reference(queue, crc(payload), 77, 1_700_000_000_000_000L, flags),
                checksum.finish(crc(payload), 77, 1_700_000_000_000_000L, flags));
        assertEquals(
                reference(queue, new CRC32C(), 5, 6, 64L << 32 | 1 << 30 | 6),
                checksum.ofPad(5, 6, 64, RecordDescriptor.PAD | 6));
    }

    private static int reference(UUID queue, CRC32C crc, long first, long second, long third) {
        BigInteger words = BigInteger.ONE.shiftLeft(64);
        BigInteger multiplier = new BigInteger("9e3779b97f4a7c15", 16);
        BigInteger low = new BigInteger(Long.toUnsignedString(queue.getLeastSignificantBits()));
        BigInteger high = new BigInteger(Long.toUnsignedString(queue.getMostSignificantBits()));
        BigInteger x = BigInteger.valueOf(first).add(low).multiply(multiplier).mod(words);
        x = x.xor(x.shiftRight(32))
                .xor(BigInteger.valueOf(second))
                .multiply(multiplier)
                .add(high)
                .mod(words);
        x = x.xor(x.shiftRight(32))
                .xor(BigInteger.valueOf(third))
                .multiply(multiplier)
                .mod(words);
        return x.shiftRight(32).xor(BigInteger.valueOf(crc.getValue())).intValue();
    }

    private static int crcOf(int payload) {
        return (int) crc(bytes(payload)).getValue();
    }

    private static byte[] bytes(int payload) {
        return ByteBuffer.allocate(4)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(payload)
                .array();
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
