package org.mmapqueue.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file that is written beside its name, and then renamed. */
class NewFileTest {
    @TempDir
    private Path temp;

    private Path target() {
        return temp.resolve("file");
    }

    private Path aside() {
        return temp.resolve("file.new");
    }

    private void write(byte[] content) throws IOException {
        NewFile.write(DiskStorage.INSTANCE, target(), ByteBuffer.wrap(content));
    }

    @Test
    void whatACrashHasLeftIsReplaced() throws IOException {
        Files.write(aside(), new byte[1000]);
        write(new byte[] {1, 2, 3});
        assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(target()));
        assertFalse(Files.exists(aside()));
    }

    @Test
    void aFailureLeavesTheOldFileAlone() throws IOException {
        write(new byte[] {1});
        IOException failure = new IOException("the disk is full");
        assertSame(
                failure,
                assertThrows(
                        IOException.class,
                        () -> NewFile.write(DiskStorage.INSTANCE, target(), true, file -> {
                            file.write(ByteBuffer.wrap(new byte[] {2, 2}), 0);
                            throw failure;
                        })));
        assertArrayEquals(new byte[] {1}, Files.readAllBytes(target()));
        assertFalse(Files.exists(aside()));
    }

    @Test
    void aPlantedLinkIsNamedAndStays() throws IOException {
        Path other = Files.write(temp.resolve("other"), new byte[] {9});
        Files.createSymbolicLink(aside(), other);
        for (int i = 0; i < 2; i++) {
            IOException error = assertThrows(IOException.class, () -> write(new byte[] {1}));
            assertTrue(error.getMessage().contains(aside() + ": is a symbolic link"), error.getMessage());
        }
        assertTrue(Files.isSymbolicLink(aside()));
        assertArrayEquals(new byte[] {9}, Files.readAllBytes(other));
        assertEquals(false, Files.exists(target()));
    }
}
