package org.mmapqueue.support;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.ArchiveFiles.Entry;

/** The contract of every implementation of {@link ArchiveFiles}. */
public abstract class ArchiveFilesContract {
    @TempDir(factory = QuickDirectory.class)
    protected Path temp;

    /** The files of a directory that does not exist. */
    protected abstract ArchiveFiles missing();

    /** Whether a directory must exist for its files. */
    protected boolean isHierarchical() {
        return true;
    }

    /** The files of a directory that exists. */
    protected final ArchiveFiles files() throws IOException {
        ArchiveFiles files = missing();
        files.createRoot();
        files.createRoot();
        return files;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static boolean create(ArchiveFiles files, String name, String text) throws IOException {
        return files.create(name, out -> out.write(bytes(text)));
    }

    private static String read(ArchiveFiles files, String name) throws IOException {
        try (ArchiveFiles.Input input = files.open(name)) {
            byte[] bytes = new byte[(int) input.length()];
            input.readFully(0, bytes, 0, bytes.length);
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private static List<String> names(ArchiveFiles files, String directory) throws IOException {
        return files.list(directory).stream().map(Entry::name).toList();
    }

    @Test
    void aFileIsCreatedOnce() throws IOException {
        try (ArchiveFiles files = files()) {
            assertTrue(create(files, "a/b/file", "one"));
            assertFalse(create(files, "a/b/file", "another"));
            assertEquals("one", read(files, "a/b/file"));
            assertEquals(List.of(), names(files, ArchiveFiles.TEMPORARY));
        }
    }

    @Test
    protected void oneOfManyThreadsCreatesAFile() throws Exception {
        try (ArchiveFiles files = files()) {
            ExecutorService threads = Executors.newFixedThreadPool(8);
            try {
                List<Callable<Boolean>> calls = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    String text = "of thread " + i;
                    calls.add(() -> create(files, "a/file", text));
                }
                int created = 0;
                for (Future<Boolean> each : threads.invokeAll(calls)) {
                    created += each.get() ? 1 : 0;
                }
                assertEquals(1, created);
                assertTrue(read(files, "a/file").startsWith("of thread "));
            } finally {
                threads.shutdown();
            }
        }
    }

    @Test
    void aFileIsReplacedAsAWhole() throws IOException {
        try (ArchiveFiles files = files()) {
            files.replace("a/file", bytes("one"));
            assertEquals("one", read(files, "a/file"));
            files.replace("a/file", bytes("another"));
            assertEquals("another", read(files, "a/file"));
            assertEquals(List.of("file"), names(files, "a"));
            assertEquals(List.of(), names(files, ArchiveFiles.TEMPORARY));
        }
    }

    @Test
    void contentThatFailsLeavesNoFile() throws IOException {
        try (ArchiveFiles files = files()) {
            IOException e = assertThrows(
                    IOException.class,
                    () -> files.create("a/file", out -> {
                        out.write(bytes("a part"));
                        throw new IOException("of the test");
                    }));
            assertEquals("of the test", e.getMessage());
            assertEquals(List.of(), names(files, "a"));
            assertEquals(List.of(), names(files, ArchiveFiles.TEMPORARY));
            assertTrue(create(files, "a/file", "whole"));
        }
    }

    @Test
    void nobodySeesAFileThatIsBeingWritten() throws IOException {
        try (ArchiveFiles files = files()) {
            assertTrue(files.create("a/file", out -> {
                out.write(bytes("a part"));
                out.flush();
                assertEquals(List.of(), names(files, "a"));
                assertThrows(NoSuchFileException.class, () -> files.open("a/file"));
            }));
            assertEquals("a part", read(files, "a/file"));
        }
    }

    @Test
    void filesAndDirectoriesAreListedInOrder() throws IOException {
        try (ArchiveFiles files = files()) {
            long before = System.currentTimeMillis();
            for (String name : List.of("a/3", "a/1", "a/d2/x", "a/2", "a/d1/y")) {
                assertTrue(create(files, name, name));
            }
            assertEquals(List.of("1", "2", "3"), names(files, "a"));
            assertEquals(List.of("d1", "d2"), files.directories("a"));
            assertEquals(List.of(), files.directories("a/d1"));
            List<String> named = files.names("a");
            assertTrue(named.containsAll(names(files, "a")), named.toString());
            assertEquals(named.stream().sorted().toList(), named);
            Entry entry = files.list("a").get(0);
            assertEquals(3, entry.length());
            assertTrue(Math.abs(entry.modifiedMillis() - before) < 600_000, entry.toString());
        }
    }

    @Test
    void whatDoesNotExistIsEmptyOrAnError() throws IOException {
        try (ArchiveFiles files = files()) {
            assertEquals(List.of(), files.list(""));
            assertEquals(List.of(), files.list("a/b"));
            assertEquals(List.of(), files.names("a/b"));
            assertEquals(List.of(), files.directories("a/b"));
            assertThrows(NoSuchFileException.class, () -> files.open("a/b"));
            assertFalse(files.delete("a/b"));
            assertFalse(files.deleteDirectory("a"));
            assertThrows(NoSuchFileException.class, () -> files.makeDurable("a/b"));
        }
    }

    @Test
    void onlyTheCreationOfTheArchiveMakesItsDirectory() throws IOException {
        Assumptions.assumeTrue(isHierarchical(), "an object store has no directories");
        try (ArchiveFiles files = files()) {
            assertTrue(create(files, "a/file", "one"));
            Path away = temp.resolve("away");
            Files.move(temp.resolve("archive"), away);
            for (int i = 0; i < 2; i++) {
                assertThrows(NoSuchFileException.class, () -> create(files, "a/file", "one"));
                assertThrows(NoSuchFileException.class, () -> create(files, "b/file", "one"));
                assertThrows(NoSuchFileException.class, () -> files.replace("a/file", bytes("one")));
                assertThrows(NoSuchFileException.class, () -> files.makeDurable("a/file"));
                assertEquals(List.of(), files.list("a"));
            }
            assertFalse(Files.exists(temp.resolve("archive")));
            Files.move(away, temp.resolve("archive"));
            assertTrue(create(files, "b/file", "two"));
            assertEquals("one", read(files, "a/file"));
        }
    }

    @Test
    void rangesAreReadToTheEndOfTheFile() throws IOException {
        try (ArchiveFiles files = files()) {
            assertTrue(create(files, "a/file", "0123456789"));
            try (ArchiveFiles.Input input = files.open("a/file")) {
                assertEquals(10, input.length());
                byte[] into = bytes("....");
                input.readFully(7, into, 1, 3);
                assertArrayEquals(bytes(".789"), into);
                input.readFully(0, into, 0, 2);
                assertArrayEquals(bytes("0189"), into);
                assertThrows(EOFException.class, () -> input.readFully(8, into, 0, 3));
            }
        }
    }

    @Test
    void filesAndEmptyDirectoriesAreDeleted() throws IOException {
        try (ArchiveFiles files = files()) {
            assertTrue(create(files, "a/file", "one"));
            assertFalse(files.deleteDirectory("a"));
            assertTrue(files.delete("a/file"));
            assertFalse(files.delete("a/file"));
            assertEquals(List.of(), names(files, "a"));
            files.deleteDirectory("a"); // an object store has none
            assertEquals(List.of(), names(files, "a"));
        }
    }

    @Test
    void theUriIsThatOfADirectory() {
        try (ArchiveFiles files = missing()) {
            assertTrue(files.uri().toString().endsWith("/archive/"), files.uri().toString());
            assertFalse(files.uri().getScheme().isEmpty());
        }
    }

    @Test
    void noHostIsNamedWhereAllAreAlike() throws IOException {
        try (ArchiveFiles files = files()) {
            assertTrue(create(files, "a/file", "one"));
            assertEquals(List.of(), files.hosts("a/file", 0, Long.MAX_VALUE));
        }
    }
}
