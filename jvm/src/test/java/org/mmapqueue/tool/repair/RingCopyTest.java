package org.mmapqueue.tool.repair;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.io.DiskStorage;

/** Copies of single files. */
class RingCopyTest {
    @TempDir
    private Path temp;

    @Test
    void aLinkInThePlaceOfTheTemporaryFileIsNamedAndStays() throws IOException {
        Path from = Files.write(temp.resolve("from"), new byte[100]);
        Path link = Files.createSymbolicLink(temp.resolve("to.new"), from);
        IOException error = assertThrows(
                IOException.class, () -> new RingCopy(DiskStorage.INSTANCE).copy(from, temp.resolve("to"), 200));
        assertTrue(error.getMessage().contains(link + ": is a symbolic link"), error.getMessage());
        assertTrue(Files.isSymbolicLink(link));
    }
}
