package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.QuickDirectory;

/** The modes of new files, and that a queue never follows a symbolic link in place of one of its files. */
@Timeout(60)
class FileRightsTest {
    private static final byte[] SECRET = {1, 2, 3};

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory() {
        return temp.resolve("new").resolve("queue");
    }

    private QueueConfig.Builder config() {
        return QueueConfig.builder(directory())
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxInMemSegments(7)
                .maxEventSize(2000)
                .flushPeriod(Duration.ofMinutes(10));
    }

    private static void use(MmapQueue queue) {
        try (Consumer one = queue.consumer("one", StartAt.EARLIEST)) {
            for (int i = 0; i < 5; i++) {
                queue.push(new byte[1500]);
            }
            one.poll();
            one.poll();
            one.ack(1); // makes the close write the file of records in flight
        }
    }

    private Map<String, String> rights() throws IOException {
        Map<String, String> rights = new TreeMap<>();
        try (Stream<Path> all = Files.walk(temp.resolve("new"))) {
            for (Path path : (Iterable<Path>) all::iterator) {
                rights.put(
                        temp.relativize(path).toString(),
                        PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
            }
        }
        return rights;
    }

    @ParameterizedTest
    @CsvSource({
        ", rw-------, rwx------",
        "600, rw-------, rwx------",
        "640, rw-r-----, rwxr-x---",
        "660, rw-rw----, rwxrwx---",
        "664, rw-rw-r--, rwxrwxr-x",
        "666, rw-rw-rw-, rwxrwxrwx"
    })
    void everyNewFileHasTheMode(String mode, String files, String directories) throws IOException {
        try (MmapQueue queue = MmapQueue.open(
                mode == null ? config().build() : config().fileMode(mode).build())) {
            assertEquals(mode == null ? "600" : mode, queue.config().asMap().get("file_mode"));
            use(queue);
        }
        Map<String, String> rights = rights();
        assertTrue(
                rights.keySet()
                        .containsAll(List.of(
                                "new/queue/lock",
                                "new/queue/meta.dat",
                                "new/queue/0_segment.dat",
                                "new/queue/consumers/one.dat",
                                "new/queue/consumers/one.lock",
                                "new/queue/consumers/one.inflight")),
                rights.toString());
        rights.forEach((path, found) ->
                assertEquals(Files.isDirectory(temp.resolve(path)) ? directories : files, found, path));
    }

    /** The archive of a private queue is as private as the queue, also in a directory that others may read. */
    @ParameterizedTest
    @CsvSource({
        "600, false, rw-------, rwx------",
        "600, true, rw-------, rwx------",
        "640, false, rw-r-----, rwxr-x---",
        "660, true, rw-rw----, rwxrwx---"
    })
    void theArchiveHasTheModeOfTheQueue(String mode, boolean exists, String files, String directories)
            throws Exception {
        Path archive = temp.resolve("new/archive");
        if (exists) {
            Files.createDirectories(archive);
            Files.setPosixFilePermissions(archive, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        MmapQueue.open(config().fileMode(mode).build()).close();
        // Opened without file_mode: its files tell.
        QueueConfig ships = config().archiveUri(archive.toUri())
                .shipPeriod(Duration.ofMillis(1))
                .build();
        try (MmapQueue queue = MmapQueue.open(ships)) {
            assertTrue(queue.awaitShipped(queue.push(SECRET), Duration.ofMinutes(1)));
        }
        Map<String, String> rights = rights();
        rights.keySet().removeIf(path -> !path.startsWith("new/archive"));
        assertEquals(exists ? "rwxr-xr-x" : directories, rights.remove("new/archive"));
        assertTrue(rights.size() > 5, rights.toString());
        rights.forEach((path, found) ->
                assertEquals(Files.isDirectory(temp.resolve(path)) ? directories : files, found, path));
    }

    @Test
    void existingFilesKeepTheirMode() throws IOException {
        Files.createDirectories(directory());
        Files.setPosixFilePermissions(directory(), PosixFilePermissions.fromString("rwxr-x--x"));
        MmapQueue.open(config().fileMode("640").build()).close();
        assertEquals("rwxr-x--x", rights().get("new/queue"));
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            use(queue);
        }
        assertEquals("rw-r-----", rights().get("new/queue/meta.dat"));
        assertEquals("rw-------", rights().get("new/queue/consumers/one.dat"));
    }

    /** The link targets a file that would be overwritten or created if the link were followed. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "lock",
                "meta.dat.new",
                "0_segment.dat",
                "consumers/one.lock",
                "consumers/one.dat.new",
                "consumers/default.lock"
            })
    void aPlantedLinkIsNotFollowed(String name) throws IOException {
        Path target = Files.write(temp.resolve("target"), SECRET);
        if (name.startsWith("consumers/")) {
            MmapQueue.open(config().build()).close();
        }
        plant(name, target);
        assertThrows(MmapQueueException.class, this::openAndUse);
        assertArrayEquals(SECRET, Files.readAllBytes(target));
        Files.delete(directory().resolve(name));
        plant(name, temp.resolve("nowhere"));
        assertThrows(MmapQueueException.class, this::openAndUse);
        assertTrue(Files.notExists(temp.resolve("nowhere")));
        // Without the link the queue works.
        Files.delete(directory().resolve(name));
        openAndUse();
    }

    /** An existing file is moved and replaced by a link to it. */
    @ParameterizedTest
    @ValueSource(strings = {"meta.dat", "0_segment.dat", "consumers/one.dat", "consumers/one.inflight"})
    void aFileReplacedByALinkThrows(String name) throws IOException {
        openAndUse();
        Path moved = Files.move(directory().resolve(name), temp.resolve("moved"));
        byte[] before = Files.readAllBytes(moved);
        plant(name, moved);
        assertThrows(MmapQueueException.class, this::openAndUse);
        assertArrayEquals(before, Files.readAllBytes(moved));
    }

    @Test
    void aLinkInsteadOfTheConsumersDirectoryThrows() throws IOException {
        MmapQueue.open(config().build()).close();
        Path target = Files.createDirectory(temp.resolve("target"));
        plant("consumers", target);
        MmapQueueException thrown = assertThrows(MmapQueueException.class, this::openAndUse);
        assertTrue(thrown.getMessage().contains("consumers: is a symbolic link"), thrown.getMessage());
        assertEquals(0, target.toFile().list().length);
    }

    private void plant(String name, Path target) throws IOException {
        Path link = directory().resolve(name);
        Files.createDirectories(link.getParent());
        Files.createSymbolicLink(link, target);
    }

    private void openAndUse() {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.consumer().poll();
            use(queue);
        }
    }
}
