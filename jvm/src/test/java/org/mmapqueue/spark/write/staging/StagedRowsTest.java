package org.mmapqueue.spark.write.staging;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.Records;
import org.mmapqueue.io.DiskStorage;

/** Staged files: rows are read as written, and damage is detected. */
class StagedRowsTest {
    @TempDir
    private Path directory;

    private static List<byte[]> rows(long seed, int count, int longest) {
        Random random = new Random(seed);
        List<byte[]> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] row = new byte[random.nextInt(longest + 1)];
            random.nextBytes(row);
            rows.add(row);
        }
        return rows;
    }

    private StagedFile staged(String name, int blockBytes, List<byte[]> rows) throws IOException {
        try (StagedFileWriter writer =
                new StagedFileWriter(DiskStorage.INSTANCE, 3, directory.resolve(name), blockBytes)) {
            for (byte[] row : rows) {
                writer.reserve(row.length);
                System.arraycopy(row, 0, writer.array(), writer.position(), row.length);
                writer.add(row.length);
            }
            assertEquals(rows.size(), writer.count());
            return writer.finish(true);
        }
    }

    private static byte[] row(Records records, int i) {
        byte[] row = new byte[records.length(i)];
        ByteBuffer buffer = records.buffer(i);
        if (buffer != null) { // null if all rows are empty
            buffer.get(records.from(i), row);
        }
        return row;
    }

    @Test
    void rowsCanBeReadInOrderRepeatedly() throws IOException {
        List<byte[]> all = new ArrayList<>();
        List<StagedFile> files = new ArrayList<>();
        // Small blocks, rows larger than a block, empty rows, more rows than a block holds, a single row.
        int[][] shapes = {{1000, 300, 4096}, {40, 20_000, 4096}, {70_000, 0, 4096}, {5000, 200, 262_144}, {1, 9, 16}};
        for (int[] shape : shapes) {
            List<byte[]> rows = rows(shape[0], shape[0], shape[1]);
            StagedFile file = staged("file" + shape[0], shape[2], rows);
            assertEquals(rows.size(), file.count());
            assertEquals(Files.size(directory.resolve(file.name())), file.size());
            assertNull(StagedFiles.fault(DiskStorage.INSTANCE, directory, file));
            all.addAll(rows);
            files.add(file);
        }
        try (StagedRecords staged = new StagedRecords(DiskStorage.INSTANCE, directory, files)) {
            Records records = staged.records();
            assertEquals(all.size(), records.count());
            for (int pass = 0; pass < 2; pass++) {
                for (int i = 0; i < all.size(); i++) {
                    assertEquals(all.get(i).length, records.length(i));
                }
            }
            for (int i = 0; i < all.size(); i++) {
                assertArrayEquals(all.get(i), row(records, i));
                assertArrayEquals(all.get(i), row(records, i));
            }
            assertArrayEquals(all.get(7), row(records, 7));
        }
    }

    @Test
    void theEstimatedLogSizeIsNeverTooSmall() throws IOException {
        List<byte[]> rows = rows(1, 100, 50);
        long least =
                rows.stream().mapToLong(row -> 16 + (row.length + 7) / 8 * 8).sum();
        assertEquals(least, staged("file", 4096, rows).logBytes());
    }

    @Test
    void damageIsReported() throws IOException {
        StagedFile file = staged("file", 4096, rows(2, 200, 100));
        Path path = directory.resolve("file");
        byte[] whole = Files.readAllBytes(path);
        for (int i = 0; i < whole.length; i += 97) {
            byte[] flipped = whole.clone();
            flipped[i] ^= 1;
            Files.write(path, flipped);
            assertTrue(
                    StagedFiles.fault(DiskStorage.INSTANCE, directory, file).contains("has the checksum"), "byte " + i);
        }
        Files.write(path, Arrays.copyOf(whole, whole.length - 1));
        assertEquals(
                path + " has " + (whole.length - 1) + " bytes, expected " + whole.length,
                StagedFiles.fault(DiskStorage.INSTANCE, directory, file));
        Files.delete(path);
        assertEquals(path + " is missing", StagedFiles.fault(DiskStorage.INSTANCE, directory, file));
    }

    @Test
    void anInterruptDoesNotBreakReading() throws IOException {
        List<byte[]> rows = rows(3, 500, 100);
        StagedFile file = staged("file", 4096, rows);
        try (StagedRecords staged = new StagedRecords(DiskStorage.INSTANCE, directory, List.of(file))) {
            Records records = staged.records();
            Thread.currentThread().interrupt();
            for (int i = 0; i < rows.size(); i++) {
                assertArrayEquals(rows.get(i), row(records, i));
            }
        }
        assertTrue(Thread.interrupted());
    }

    @Test
    void filesAreAccessibleToTheOwnerOnlyAndNeverOverwritten() throws IOException {
        staged("file", 4096, rows(4, 1, 1));
        assertEquals(
                "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("file"))));
        assertThrows(FileAlreadyExistsException.class, () -> staged("file", 4096, List.of()));
    }

    @Test
    void aManifestIsReadAsWritten() throws IOException {
        StagedFile one = staged("one", 4096, rows(5, 10, 10));
        Manifest manifest = Manifest.of(
                "spark-x",
                Long.MAX_VALUE,
                List.of(one, new StagedFile(7, "two", 1L << 40, 1L << 33, 1L << 40, -2, Long.MIN_VALUE)));
        manifest.write(DiskStorage.INSTANCE, directory, true);
        assertEquals(manifest, Manifest.read(DiskStorage.INSTANCE, manifest.path(directory)));
        assertTrue(Manifest.isManifest(manifest.path(directory)));
        assertEquals(Long.MAX_VALUE, Manifest.sequenceOf(manifest.path(directory)));
        assertEquals(List.of(3, 7), List.copyOf(manifest.byPartition().keySet()));
    }

    @Test
    void aManifestOfFormat1IsRead() throws IOException {
        StagedFile one = staged("one", 4096, rows(5, 10, 10));
        String text = "mmapqueue manifest 1\nproducer spark-x\nsequence 5\n"
                + String.format("file 3 one %d 10 %d %08x\n", one.size(), one.logBytes(), one.checksum());
        CRC32C sum = new CRC32C();
        sum.update(text.getBytes(UTF_8));
        Files.writeString(directory.resolve("5.manifest"), text + String.format("sum %08x\n", sum.getValue()));
        Manifest found = Manifest.read(DiskStorage.INSTANCE, directory.resolve("5.manifest"));
        assertNull(found.digest());
        assertEquals(
                List.of(new StagedFile(3, "one", one.size(), 10, one.logBytes(), one.checksum(), 0)), found.files());
    }

    private BatchDigest digest(byte[]... rows) {
        RowDigest digest = new RowDigest();
        for (byte[] row : rows) {
            digest.add(row, 0, row.length);
        }
        return new BatchDigest(rows.length, digest.sum());
    }

    @Test
    void theDigestDependsOnRowsAndNotOnOrderOrFiles() throws IOException {
        byte[][] rows = {"a".getBytes(UTF_8), "b".getBytes(UTF_8), {}, "ab".getBytes(UTF_8)};
        BatchDigest all = digest(rows);
        assertEquals(all, digest(rows[3], rows[1], rows[2], rows[0]));
        assertEquals(
                all,
                Manifest.of(
                                "spark-x",
                                1,
                                List.of(
                                        staged("x", 4096, List.of(rows[2], rows[3])),
                                        staged("y", 1, List.of(rows[1], rows[0]))))
                        .digest());
        assertEquals(0, digest().checksum());
        assertNotEquals(digest(rows[0], rows[0]), digest(rows[1], rows[1]));
        // The same letters, swapped bits, and a duplicate row.
        assertNotEquals(
                digest("ab".getBytes(UTF_8), "c".getBytes(UTF_8)), digest("a".getBytes(UTF_8), "bc".getBytes(UTF_8)));
        assertNotEquals(digest(new byte[] {1}, new byte[] {2}), digest(new byte[] {3}, new byte[] {0}));
        assertNotEquals(digest(rows[0], rows[0], rows[1]), digest(rows[0], rows[1], rows[1]));
    }

    @Test
    void anIncompleteManifestIsIgnored() throws IOException {
        Manifest manifest = Manifest.of("spark-x", 5, List.of(staged("one", 4096, rows(6, 10, 10))));
        manifest.write(DiskStorage.INSTANCE, directory, false);
        Path path = manifest.path(directory);
        byte[] whole = Files.readAllBytes(path);
        for (int length = 0; length < whole.length; length++) {
            Files.write(path, Arrays.copyOf(whole, length));
            assertNull(Manifest.read(DiskStorage.INSTANCE, path), "the first " + length + " bytes");
        }
        for (int i = 0; i < whole.length; i++) {
            byte[] flipped = whole.clone();
            flipped[i] ^= 1;
            Files.write(path, flipped);
            assertNull(Manifest.read(DiskStorage.INSTANCE, path), "byte " + i);
        }
        Files.write(path, whole);
        assertNotNull(Manifest.read(DiskStorage.INSTANCE, path));
    }
}
