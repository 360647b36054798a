package org.mmapqueue.archive.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mmapqueue.support.ArchiveFilesContract;

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
}
