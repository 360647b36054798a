package org.mmapqueue.archive.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.support.ArchiveFilesContract;
import org.mmapqueue.support.UnreadableDirectory;

class LocalFilesTest extends ArchiveFilesContract {
    @Override
    protected ArchiveFiles missing() {
        return new LocalFiles(temp.resolve("archive"));
    }

    @Test
    void anEmptyDirectoryIsDeleted() throws IOException {
        try (ArchiveFiles files = files()) {
            assertTrue(files.create("a/file", out -> {}));
            assertTrue(files.delete("a/file"));
            assertTrue(files.deleteDirectory("a"));
            assertEquals(List.of(ArchiveFiles.TEMPORARY), files.directories(""));
        }
    }

    /** A shipper and an upkeep try again after an IOException alone. */
    @Test
    void aDirectoryThatFailsWhileItIsReadIsAnIoException() {
        try (ArchiveFiles files = new LocalFiles(UnreadableDirectory.path())) {
            assertThrows(IOException.class, () -> files.names("a"));
            assertThrows(IOException.class, () -> files.list("a"));
            assertThrows(IOException.class, () -> files.directories("a"));
        }
    }

    @Test
    void aPathAndAFileUriAreLocal() {
        String expected = temp.resolve("archive").toUri().toString() + "/";
        for (String location : new String[] {
            temp.resolve("archive").toString(), "file:" + temp.resolve("archive"), "file://" + temp.resolve("archive")
        }) {
            try (ArchiveFiles files = Archives.files(URI.create(location))) {
                assertTrue(files instanceof LocalFiles);
                assertEquals(expected, files.uri().toString());
            }
        }
    }

    @Test
    void aFileUriOfAnotherHostIsAnError() {
        IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> Archives.files(URI.create("file://host/archive")));
        assertTrue(e.getMessage().contains("file://host/archive"), e.getMessage());
    }

    private static String mode(Path path) throws IOException {
        return Integer.toOctalString((int) Files.getAttribute(path, "unix:mode") & 07777);
    }

    /** A compaction or a query that has no queue: its files get the permissions of those beside them. */
    @ParameterizedTest
    @CsvSource({"700, 600, 700", "750, 640, 750", "2770, 660, 2770", "755, 644, 755", "733, 600, 700"})
    void withoutAModeFilesAreLikeTheirDirectory(String directory, String file, String made) throws IOException {
        Path root = Files.createDirectory(temp.resolve("archive"));
        Files.setAttribute(root, "unix:mode", Integer.parseInt(directory, 8));
        try (ArchiveFiles files = new LocalFiles(root)) {
            files.create("a/b/file", out -> {});
            files.replace("c/file", new byte[1]);
        }
        for (String each : List.of("a", "a/b", "c", ArchiveFiles.TEMPORARY)) {
            assertEquals(made, mode(root.resolve(each)), each);
        }
        for (String each : List.of("a/b/file", "c/file")) {
            assertEquals(file, mode(root.resolve(each)), each);
        }
    }

    @Test
    void aSharedDirectoryGivesItsGroupToAllBelow() throws IOException {
        Path root = Files.createDirectory(temp.resolve("archive"));
        Files.setAttribute(root, "unix:mode", 02770);
        try (ArchiveFiles files = new LocalFiles(root, FileMode.of("640"))) {
            files.create("a/file", out -> {});
        }
        assertEquals("2750", mode(root.resolve("a")));
        assertEquals("640", mode(root.resolve("a/file")));
    }
}
