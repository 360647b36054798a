package org.mmapqueue.spark.write.staging;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DiskStorage;

/** Files of the staging area with right checksums and impossible values: a CorruptException names the file. */
class ForgedStagingTest {
    private static final int ROWS = 3;
    private static final int LENGTHS = StagedFileWriter.HEADER;

    @TempDir
    private Path directory;

    private StagedFile staged;

    @BeforeEach
    void make() throws IOException {
        try (StagedFileWriter writer =
                new StagedFileWriter(DiskStorage.INSTANCE, 0, directory.resolve("5-w-0-0.p0"), 4096)) {
            for (int length = 4; length < 4 + ROWS; length++) {
                writer.reserve(length);
                writer.add(length);
            }
            staged = writer.finish(false);
        }
    }

    // ---- the rows

    private ByteBuffer content() throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(directory.resolve(staged.name())))
                .order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The error for a file with this content and as many rows as the task has counted. */
    private String errorOf(byte[] content) throws IOException {
        Path path = directory.resolve(staged.name());
        Files.write(path, content);
        CRC32C sum = new CRC32C();
        sum.update(content);
        StagedFile forged = new StagedFile(
                0, staged.name(), content.length, ROWS, staged.logBytes(), (int) sum.getValue(), staged.digest());
        assertEquals(null, StagedFiles.fault(DiskStorage.INSTANCE, directory, forged));
        CorruptException error = assertThrows(
                CorruptException.class,
                () -> new StagedRecords(DiskStorage.INSTANCE, directory, List.of(forged)).close());
        assertEquals(path.toString(), error.file());
        return error.detail();
    }

    @ParameterizedTest
    @CsvSource({
        "0, -1, the number of rows is -1; allowed: 0 to 3",
        "0, -2147483648, the number of rows is -2147483648; allowed: 0 to 3",
        "0, 4, the number of rows is 4; allowed: 0 to 3",
        "0, 2147483647, the number of rows is 2147483647; allowed: 0 to 3",
        "0, 2, a block has 6 bytes after its rows; expected 0",
        "4, -1, the size of the payloads is -1; allowed: 0 to 15",
        "4, 16, the size of the payloads is 16; allowed: 0 to 15",
        "4, 2147483647, the size of the payloads is 2147483647; allowed: 0 to 15",
        "4, 14, the length of a row is 6; allowed: 0 to 5",
        "8, -1, the length of a row is -1; allowed: 0 to 15",
        "8, 3, a block has 1 bytes after its rows; expected 0",
        "8, 2147483647, the length of a row is 2147483647; allowed: 0 to 15"
    })
    void aNumberOfABlockIsCompared(int at, int value, String detail) throws IOException {
        assertEquals(detail, errorOf(content().putInt(at, value).array()));
    }

    @Test
    void aFileEndsWithABlockAndHasAllRows() throws IOException {
        byte[] whole = content().array();
        assertEquals(
                "the file ends inside a block",
                errorOf(ByteBuffer.allocate(whole.length + 7).put(whole).array()));
        assertEquals("the file ends 3 rows too early", errorOf(new byte[0]));
        byte[] one = ByteBuffer.allocate(LENGTHS + 4)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(1)
                .array();
        assertEquals("the file ends 2 rows too early", errorOf(one));
    }

    @Test
    void noNumberIsAnUntypedError() throws IOException {
        Random random = new Random(7);
        byte[] whole = content().array();
        for (int i = 0; i < 500; i++) {
            ByteBuffer forged = ByteBuffer.wrap(whole.clone()).order(ByteOrder.LITTLE_ENDIAN);
            int at = 4 * random.nextInt(2 + ROWS);
            int now = forged.getInt(at);
            int value = random.nextBoolean() ? now ^ 1 << random.nextInt(32) : random.nextInt();
            if (value != now) {
                errorOf(forged.putInt(at, value).array());
            }
        }
    }

    // ---- the manifest

    private CorruptException errorOf(String lines) throws IOException {
        return errorOf(lines, "5.manifest");
    }

    private CorruptException errorOf(String lines, String name) throws IOException {
        Path path = directory.resolve(name);
        Files.write(path, (lines + Manifest.sumLine(lines)).getBytes(UTF_8));
        CorruptException error =
                assertThrows(CorruptException.class, () -> Manifest.read(DiskStorage.INSTANCE, path), lines);
        assertEquals(path.toString(), error.file());
        return error;
    }

    private static String withFile(String line) {
        return "mmapqueue manifest 2\nproducer p\nsequence 5\n" + line + "\n";
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "file -1 n 8 1 24 00000000 0000000000000000",
                "file 2147483648 n 8 1 24 00000000 0000000000000000",
                "file 99999999999999999999 n 8 1 24 00000000 0000000000000000",
                "file 0 ../n 8 1 24 00000000 0000000000000000",
                "file 0 .. 8 1 24 00000000 0000000000000000",
                "file 0 /n 8 1 24 00000000 0000000000000000",
                "file 0 n -8 1 24 00000000 0000000000000000",
                "file 0 n 9223372036854775807 1 24 00000000 0000000000000000",
                "file 0 n 9999999999999999999 1 24 00000000 0000000000000000",
                "file 0 n 8 3 24 00000000 0000000000000000",
                "file 0 n 8 9223372036854775807 24 00000000 0000000000000000",
                "file 0 n 8 1 33 00000000 0000000000000000",
                "file 0 n 8 1 -1 00000000 0000000000000000",
                "file 0 n 8 1 24 000000000 0000000000000000",
                "file 0 n 8 1 24 00000000",
                "file 0 n 8 1 24 0000000x 0000000000000000",
                "file 0 n",
                "other",
                ""
            })
    void aLineOfAFileIsCompared(String line) throws IOException {
        CorruptException error = errorOf(withFile(line));
        assertEquals(withFile("").length() - 1, error.position());
        assertTrue(
                error.detail().contains("; allowed: up to ") || error.detail().endsWith("; expected a file"),
                error.detail());
    }

    @Test
    void theHeadIsCompared() throws IOException {
        String format = "mmapqueue manifest 2\n";
        assertEquals(
                "the file has 1 lines; expected at least 3", errorOf(format).detail());
        assertEquals(
                "the line is \"x\"; expected a producer",
                errorOf(format + "x\nsequence 5\n").detail());
        assertEquals(
                "the line is \"x\"; expected a sequence",
                errorOf(format + "producer p\nx\n").detail());
        assertEquals(
                "sequence is 9223372036854775808; allowed: up to 9223372036854775807",
                errorOf(format + "producer p\nsequence 9223372036854775808\n").detail());
        assertEquals(
                "sequence is 5; expected that of the file's name",
                errorOf(format + "producer p\nsequence 5\n", "6.manifest").detail());
    }

    @Test
    void aLinkInThePlaceOfTheTemporaryFileIsNamedAndStays() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("5.manifest.new"), directory.resolve(staged.name()));
        Manifest manifest = Manifest.of("p", 5, List.of(staged));
        IOException error =
                assertThrows(IOException.class, () -> manifest.write(DiskStorage.INSTANCE, directory, false));
        assertTrue(error.getMessage().contains(link + ": is a symbolic link"), error.getMessage());
        assertTrue(Files.isSymbolicLink(link));
    }

    @Test
    void aNameThatIsNoNumberDeletesNothing() throws IOException {
        StagingArea area = new StagingArea(DiskStorage.INSTANCE, directory);
        Path own = area.make("q");
        for (String name : List.of("x-1", "-1", "99999999999999999999-1", "5-w-0-0.p0", "7-w-0-0.p0")) {
            Files.createFile(own.resolve(name));
        }
        area.deleteThrough("q", 6);
        try (var left = Files.list(own)) {
            assertEquals(
                    List.of("-1", "7-w-0-0.p0", "99999999999999999999-1", "x-1"),
                    left.map(each -> each.getFileName().toString()).sorted().toList());
        }
    }
}
