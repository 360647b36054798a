package org.mmapqueue.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.FailingFsyncs;

@Timeout(60)
class DiskFileTest {
    @TempDir
    Path temp;

    private Path path() {
        return temp.resolve("file");
    }

    private DataFile create() throws IOException {
        return DiskStorage.INSTANCE.open(path(), Storage.Mode.CREATE);
    }

    @Test
    void modes() throws IOException {
        assertThrows(NoSuchFileException.class, () -> DiskStorage.INSTANCE.open(path(), Storage.Mode.READ));
        assertThrows(NoSuchFileException.class, () -> DiskStorage.INSTANCE.open(path(), Storage.Mode.WRITE));
        create().close();
        try (DataFile file = DiskStorage.INSTANCE.open(path(), Storage.Mode.READ)) {
            assertThrows(RuntimeException.class, () -> file.write(ByteBuffer.allocate(1), 0));
            assertEquals(0, file.size());
        }
        Files.createSymbolicLink(temp.resolve("link"), path());
        assertThrows(IOException.class, () -> DiskStorage.INSTANCE.open(temp.resolve("link"), Storage.Mode.CREATE));
    }

    @Test
    void whatIsWrittenIsRead() throws IOException {
        try (DataFile file = create()) {
            file.write(ByteBuffer.wrap(new byte[] {1, 2, 3, 4}), 10);
            assertEquals(14, file.size());
            ByteBuffer target = ByteBuffer.allocate(20);
            assertEquals(12, file.read(target, 2));
            assertArrayEquals(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, Arrays.copyOf(target.array(), 12));
            assertEquals(0, file.read(ByteBuffer.allocate(5), 14));
            assertEquals(2, file.read(ByteBuffer.allocate(2), 10));
        }
    }

    @Test
    void zerosOverAllOfIt() throws IOException {
        for (int size : new int[] {4096, 131_072, 300_000 / 4096 * 4096, 3 << 20}) {
            byte[] old = new byte[4096];
            Arrays.fill(old, (byte) 7);
            Files.write(path(), old);
            try (DataFile file = create()) {
                file.zeroFill(size, 64 << 10);
                assertEquals(size, file.size());
            }
            assertArrayEquals(new byte[size], Files.readAllBytes(path()));
        }
    }

    @Test
    void aMappingOutlivesItsFile() throws IOException {
        DataFile file = create();
        file.zeroFill(4096, 4096);
        Mapping mapped = file.mapToUnmap(4096, true);
        MappedByteBuffer mapping = mapped.bytes();
        mapping.put(5, (byte) 9);
        file.force(mapping, 0, 4096);
        file.force();
        file.close();
        mapping.put(6, (byte) 8);
        byte[] bytes = Files.readAllBytes(path());
        assertEquals(9, bytes[5]);
        assertEquals(8, bytes[6]);
        mapped.unmap();
    }

    @Test
    void afterTheCloseEveryCallFails() throws IOException {
        DataFile file = create();
        file.close();
        file.close();
        assertThrows(ClosedChannelException.class, file::size);
        assertThrows(ClosedChannelException.class, file::force);
        assertThrows(ClosedChannelException.class, () -> file.read(ByteBuffer.allocate(1), 0));
    }

    @Test
    void anInterruptedThreadDoesEverything() throws IOException {
        Thread.currentThread().interrupt();
        try (DataFile file = create()) {
            file.zeroFill(300_000, 4096);
            file.write(ByteBuffer.wrap(new byte[] {5}), 100);
            file.force();
            ByteBuffer target = ByteBuffer.allocate(1);
            assertEquals(1, file.read(target, 100));
            assertEquals(5, target.get(0));
            file.mapToUnmap(4096, true).unmap();
            assertEquals(300_000, file.size());
            DiskStorage.INSTANCE.createDirectories(temp.resolve("a").resolve("b"));
            DiskStorage.INSTANCE.syncDirectory(temp);
            DiskStorage.INSTANCE.rename(path(), temp.resolve("renamed"));
        } finally {
            assertTrue(Thread.interrupted(), "the interrupt stays pending");
        }
        assertTrue(Files.isDirectory(temp.resolve("a").resolve("b")));
    }

    @Test
    void noFsyncFollowsAFailedOne() throws IOException {
        FailingFsyncs disk = new FailingFsyncs();
        try (DataFile file = disk.open(path(), Storage.Mode.CREATE)) {
            file.zeroFill(4096, 4096);
            Mapping mapped = file.mapToUnmap(4096, true);
            file.force();
            disk.failNext("file", () -> {});
            IOException first = assertThrows(IOException.class, file::force);
            IOException later = assertThrows(IOException.class, file::force);
            assertSame(first, later.getCause());
            assertThrows(IOException.class, () -> file.force(mapped.bytes(), 0, 4096));
            assertEquals(1, disk.failures());
            mapped.unmap();
        }
    }

    @Test
    void aFileThatHasTakenTheNameIsNotMapped() throws IOException {
        try (DataFile file = create()) {
            file.zeroFill(4096, 4096);
            Path other = Files.write(temp.resolve("other"), new byte[4096]);
            DiskStorage.INSTANCE.rename(other, path());
            IOException refused = assertThrows(IOException.class, () -> file.map(4096, true));
            assertTrue(refused.getMessage().contains("another file has taken this name"), refused.getMessage());
            file.write(ByteBuffer.wrap(new byte[] {1}), 0);
            assertArrayEquals(new byte[4096], Files.readAllBytes(path()));
        }
    }

    /** The JDK closes some channels under all threads when one is interrupted inside. */
    @Test
    void interruptsOfOneThreadDoNotFailTheOthers() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (DataFile file = create()) {
            file.zeroFill(1 << 20, 1 << 20);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                byte mark = (byte) (i + 1);
                int at = i * 300_000;
                threads.add(new Thread(() -> {
                    byte[] bytes = new byte[200_000];
                    Arrays.fill(bytes, mark);
                    try {
                        while (!stop.get()) {
                            file.write(ByteBuffer.wrap(bytes), at);
                            ByteBuffer target = ByteBuffer.allocate(bytes.length);
                            assertEquals(bytes.length, file.read(target, at));
                            assertArrayEquals(bytes, target.array());
                        }
                    } catch (IOException | RuntimeException | Error e) {
                        failure.set(e);
                    }
                }));
            }
            threads.forEach(Thread::start);
            for (int i = 0; i < 200; i++) {
                threads.get(i % 2).interrupt();
                Thread.sleep(1);
            }
            stop.set(true);
            for (Thread thread : threads) {
                thread.join();
            }
        }
        if (failure.get() != null) {
            throw new AssertionError(failure.get());
        }
    }
}
