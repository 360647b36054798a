package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.TemporaryNames;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.support.MemoryFiles;

class ArchiveTest {
    private final MemoryFiles files = new MemoryFiles();

    private static ArchiveException fails(Executable call, String... parts) {
        ArchiveException e = assertThrows(ArchiveException.class, call);
        for (String part : parts) {
            assertTrue(e.getMessage().contains(part), e.getMessage());
        }
        return e;
    }

    private String text(String name) throws IOException {
        try (ArchiveFiles.Input input = files.open(name)) {
            byte[] bytes = new byte[(int) input.length()];
            input.readFully(0, bytes, 0, bytes.length);
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private void write(String name, String text) {
        files.replace(name, text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void anArchiveIsMadeOnceAndOpenedAgain() throws IOException {
        assertFalse(Archive.isArchive(files));
        fails(() -> Archive.open(files), "memory:/ is no archive", "archive.properties");
        UUID id = Archive.create(files).id();
        assertTrue(Archive.isArchive(files));
        assertEquals(id, Archive.create(files).id());
        assertEquals(id, Archive.open(files).id());
        assertTrue(text("archive.properties").matches("created=.*\nformat=1\nid=" + id + "\n"));
    }

    @Test
    void anArchiveOfAnotherFormatIsAnError() {
        write("archive.properties", "format=2\nid=" + new UUID(1, 2) + "\n");
        fails(() -> Archive.open(files), "memory:/archive.properties", "format = 2", "format 1");
        write("archive.properties", "format=1\n");
        fails(() -> Archive.open(files), "memory:/archive.properties has no id");
        write("archive.properties", "format=1\nid=x\n");
        fails(() -> Archive.open(files), "memory:/archive.properties: id = x");
    }

    @Test
    void queuesGetNumbersInTurnAndKeepThem() throws IOException {
        Archive archive = Archive.create(files);
        PartitionEntry first = archive.register(new UUID(1, 1), 0, "a");
        PartitionEntry second = archive.register(new UUID(1, 2), 7, "b");
        assertEquals(0, first.id());
        assertEquals(1, second.id());
        assertEquals(first, archive.register(new UUID(1, 1), 0, "a"));
        assertEquals(List.of(first, second), archive.partitions());
        assertEquals(List.of(first, second), Archive.open(files).partitions());
        assertEquals(7, second.local());
        assertTrue(files.names().contains("partitions/00001.properties"));
    }

    @Test
    void aQueueOfAnotherHostIsAnErrorUnlessItIsTakenOver() throws IOException {
        Archive archive = Archive.create(files);
        UUID queue = new UUID(1, 1);
        PartitionEntry here = archive.register(queue, 0, "host-a");
        fails(() -> archive.register(queue, 0, "host-b"), "host-a", "host-b", queue.toString());
        files.nowMillis = 2_000_000;
        PartitionEntry moved = archive.register(queue, 0, "host-b", true);
        assertEquals(here.id(), moved.id());
        assertEquals("host-b", moved.host());
        fails(() -> archive.register(queue, 0, "host-a"), "host-a", "host-b");
        assertEquals(List.of(moved), archive.partitions());
    }

    @Test
    void queuesThatRegisterAtOnceGetNumbersOfTheirOwn() throws Exception {
        Archive.create(files);
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Callable<Integer>> calls = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                UUID queue = new UUID(5, i % 20);
                calls.add(() -> Archive.open(files).register(queue, 0, "a").id());
            }
            HashSet<Integer> ids = new HashSet<>();
            for (Future<Integer> each : threads.invokeAll(calls)) {
                ids.add(each.get());
            }
            // A queue may register twice at once only in a test: each one has one shipper.
            assertTrue(ids.size() >= 20);
            assertEquals(ids.size(), Archive.open(files).partitions().size());
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void otherFilesInTheRegistryAreIgnored() throws IOException {
        Archive archive = Archive.create(files);
        archive.register(new UUID(1, 1), 0, "a");
        write("partitions/README", "text");
        write("partitions/1.properties", "text");
        assertEquals(1, archive.partitions().size());
        write("partitions/00003.properties", "queue=x\n");
        fails(archive::partitions, "partitions/00003.properties", "queue = x");
    }

    @Test
    void consumersCommitAndAreDeleted() throws IOException {
        Archive archive = Archive.create(files);
        assertEquals(List.of(), archive.consumers());
        archive.commit("spark-1", "checkpoint file:/c = 'ä'\n2", Map.of(0, 17L, 12, 0L));
        archive.commit("b", "", Map.of());
        List<ArchiveConsumer> consumers = Archive.open(files).consumers();
        assertEquals(
                List.of("b", "spark-1"),
                consumers.stream().map(ArchiveConsumer::name).toList());
        assertEquals("checkpoint file:/c = 'ä'\n2", consumers.get(1).label());
        assertEquals(Map.of(0, 17L, 12, 0L), consumers.get(1).offsets());
        archive.commit("spark-1", "", Map.of(0, 18L));
        assertEquals(Map.of(0, 18L), archive.consumers().get(1).offsets());
        assertTrue(archive.deleteConsumer("spark-1"));
        assertFalse(archive.deleteConsumer("spark-1"));
        assertEquals(1, archive.consumers().size());
    }

    @Test
    void badConsumersAreErrors() throws IOException {
        Archive archive = Archive.create(files);
        assertThrows(ConfigException.class, () -> archive.commit("../x", "", Map.of()));
        assertThrows(ConfigException.class, () -> archive.deleteConsumer("a/b"));
        assertThrows(IllegalArgumentException.class, () -> archive.commit("a", "", Map.of(0, -1L)));
        assertThrows(IllegalArgumentException.class, () -> archive.register(new UUID(1, 1), -1, "a"));
        assertThrows(IllegalArgumentException.class, () -> archive.register(new UUID(1, 1), 0, " "));
        write("consumers/c.properties", "label=\nupdated=2024-01-01T00:00:00Z\noffset.0=x\n");
        fails(archive::consumers, "consumers/c.properties", "offset.0 = x");
    }

    @Test
    void unfinishedFilesOfAPartitionAreDeleted() throws IOException {
        Archive archive = Archive.create(files);
        write(".tmp/" + TemporaryNames.of("data/00001/000000000000/x.run", new UUID(1, 1)), "");
        write(".tmp/" + TemporaryNames.of("data/00001/000000000001/x.run", new UUID(1, 2)), "");
        write(".tmp/" + TemporaryNames.of("data/00002/000000000000/x.run", new UUID(1, 1)), "");
        assertEquals(2, archive.deleteUnfinished(1));
        assertEquals(0, archive.deleteUnfinished(1));
        assertEquals(1, archive.deleteUnfinished(2));
    }
}
