package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.ArchiveText;
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

    private void write(String name, Map<String, String> values) {
        files.replace(name, ArchiveText.encode(values));
    }

    @Test
    void anArchiveIsMadeOnceAndOpenedAgain() throws IOException {
        assertFalse(Archive.isArchive(files));
        fails(() -> Archive.open(files), "memory:/ is not an archive", "archive.properties");
        UUID id = Archive.create(files).id();
        assertTrue(Archive.isArchive(files));
        assertEquals(id, Archive.create(files).id());
        assertEquals(id, Archive.open(files).id());
        assertTrue(text("archive.properties").matches("created=.*\nformat=1\nid=" + id + "\nchecksum=[0-9a-f]{8}\n"));
    }

    @Test
    void anArchiveOfAnotherFormatIsAnError() {
        write("archive.properties", Map.of("format", "2", "id", new UUID(1, 2).toString()));
        fails(() -> Archive.open(files), "memory:/archive.properties", "format = 2", "format 1");
        write("archive.properties", Map.of("format", "1"));
        fails(() -> Archive.open(files), "memory:/archive.properties has no id");
        write("archive.properties", Map.of("format", "1", "id", "x"));
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
        assertEquals(7, archive.registration(second).local());
        assertEquals("b", archive.registration(second).host());
        assertTrue(files.names().contains("partitions/00001-" + second.queue() + ".properties"));
    }

    @Test
    void anyDamageOfAnyFileIsAnErrorThatNamesIt() throws IOException {
        Archive archive = Archive.create(files);
        PartitionEntry entry = archive.register(new UUID(1, 1), 0, "host-a");
        archive.commit("query", "label", Map.of(0, 7L));
        for (String name : files.names()) {
            byte[] whole = text(name).getBytes(StandardCharsets.UTF_8);
            for (int bit = 0; bit < 8 * whole.length; bit++) {
                byte[] damaged = whole.clone();
                damaged[bit / 8] ^= (byte) (1 << bit % 8);
                files.replace(name, damaged);
                failsToRead(archive, entry, name);
            }
            for (int length = 0; length < whole.length; length++) {
                files.replace(name, Arrays.copyOf(whole, length));
                failsToRead(archive, entry, name);
            }
            files.replace(name, whole);
        }
        assertEquals(List.of(entry), archive.partitions());
    }

    private void failsToRead(Archive archive, PartitionEntry entry, String name) {
        fails(
                () -> {
                    Archive.open(files);
                    archive.registration(entry);
                    archive.owner(entry);
                    archive.consumers();
                },
                "memory:/" + name + " is damaged");
        assertDoesNotThrow(archive::partitions);
    }

    @Test
    void queuesThatRegisterAtOnceGetNumbersOfTheirOwnInFewCalls() throws Exception {
        Archive.create(files);
        int hosts = 50;
        AtomicInteger creates = new AtomicInteger();
        CyclicBarrier allHaveListed = new CyclicBarrier(hosts);
        ExecutorService threads = Executors.newFixedThreadPool(hosts);
        try {
            List<Callable<Integer>> calls = new ArrayList<>();
            for (int i = 0; i < hosts; i++) {
                UUID queue = new UUID(5, i);
                ArchiveFiles own = new CountedFiles(files, creates, allHaveListed);
                calls.add(() -> Archive.open(own).register(queue, 0, "a").id());
            }
            HashSet<Integer> ids = new HashSet<>();
            for (Future<Integer> each : threads.invokeAll(calls)) {
                ids.add(each.get());
            }
            assertEquals(hosts, ids.size());
            assertEquals(hosts, Archive.open(files).partitions().size());
            assertTrue(creates.get() <= 4 * hosts, creates + " creates");
        } finally {
            threads.shutdown();
        }
    }

    /** Counts the files that are created, and lets all hosts list before the first one creates. */
    private static final class CountedFiles extends FailingFiles {
        private final AtomicInteger creates;
        private final CyclicBarrier allHaveListed;
        private boolean hasListed;

        CountedFiles(ArchiveFiles files, AtomicInteger creates, CyclicBarrier allHaveListed) {
            super(files);
            this.creates = creates;
            this.allHaveListed = allHaveListed;
        }

        @Override
        public boolean create(String name, Content content) throws IOException {
            if (!hasListed) {
                hasListed = true;
                try {
                    allHaveListed.await(1, TimeUnit.MINUTES);
                } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
                    throw new IOException(e);
                }
            }
            creates.incrementAndGet();
            return super.create(name, content);
        }
    }

    @Test
    void otherFilesInTheRegistryAreIgnored() throws IOException {
        Archive archive = Archive.create(files);
        archive.register(new UUID(1, 1), 0, "a");
        write("partitions/README", "text");
        write("partitions/1.properties", "text");
        assertEquals(1, archive.partitions().size());
        write("partitions/00003-x.properties", "text");
        assertEquals(1, archive.partitions().size());
        PartitionEntry empty = new PartitionEntry(7, new UUID(1, 7));
        write("partitions/00007-" + empty.queue() + ".properties", "");
        assertEquals(2, archive.partitions().size());
        fails(() -> archive.registration(empty), "partitions/00007-" + empty.queue() + ".properties is damaged");
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
        write("consumers/c.properties", Map.of("label", "", "updated", "2024-01-01T00:00:00Z", "offset.0", "x"));
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
