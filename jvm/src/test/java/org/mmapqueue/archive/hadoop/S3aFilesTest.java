package org.mmapqueue.archive.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.support.ArchiveFilesContract;

/** Over S3A; the property names a bucket, and the class path has the configuration: {@code make test-s3}. */
@EnabledIfSystemProperty(named = "archive.bucket", matches = "s3a:.+", disabledReason = "make test-s3 runs it")
class S3aFilesTest extends ArchiveFilesContract {
    /** An object of this size is uploaded in parts. */
    private static final int LARGE = 12 << 20;

    private static URI uri(String bucket) {
        return URI.create(bucket + "/" + UUID.randomUUID() + "/archive");
    }

    @Override
    protected ArchiveFiles missing() {
        return new HadoopFiles(uri(System.getProperty("archive.bucket")));
    }

    @Override
    protected boolean isHierarchical() {
        return false;
    }

    private static byte[] large(int number) {
        byte[] content = new byte[LARGE];
        for (int i = 0; i < LARGE; i++) {
            content[i] = (byte) (number * 31 + i / 4096 + i);
        }
        return content;
    }

    private static byte[] read(ArchiveFiles files, String name) throws IOException {
        try (ArchiveFiles.Input input = files.open(name)) {
            byte[] content = new byte[(int) input.length()];
            input.readFully(0, content, 0, content.length);
            return content;
        }
    }

    @Test
    void aLargeFileIsCreatedOnce() throws IOException {
        try (ArchiveFiles files = files()) {
            assertTrue(files.create("a/file", out -> out.write(large(1))));
            assertFalse(files.create("a/file", out -> out.write(large(2))));
            assertFalse(files.create("a/file", out -> out.write(3)));
            assertTrue(Arrays.equals(large(1), read(files, "a/file")));
        }
    }

    @Test
    void oneOfManyThreadsCreatesALargeFile() throws Exception {
        try (ArchiveFiles files = files()) {
            ExecutorService threads = Executors.newFixedThreadPool(6);
            try {
                List<Callable<Boolean>> calls = new ArrayList<>();
                for (int i = 0; i < 6; i++) {
                    byte[] content = large(i);
                    calls.add(() -> files.create("a/file", out -> out.write(content)));
                }
                List<Integer> created = new ArrayList<>();
                List<Future<Boolean>> results = threads.invokeAll(calls);
                for (int i = 0; i < results.size(); i++) {
                    if (results.get(i).get()) {
                        created.add(i);
                    }
                }
                assertEquals(1, created.size());
                assertTrue(Arrays.equals(large(created.get(0)), read(files, "a/file")));
            } finally {
                threads.shutdown();
            }
        }
    }

    @Test
    void aLargeFileIsNotSeenInParts() throws IOException {
        try (ArchiveFiles files = files()) {
            IOException e = assertThrows(
                    IOException.class,
                    () -> files.create("a/file", out -> {
                        out.write(large(1));
                        assertEquals(List.of(), files.list("a"));
                        throw new IOException("of the test");
                    }));
            assertEquals("of the test", e.getMessage());
            assertEquals(List.of(), files.list("a"));
            assertTrue(files.create("a/file", out -> out.write(large(2))));
        }
    }

    @Test
    void rangesOfALargeFileAreRead() throws IOException {
        byte[] content = large(7);
        try (ArchiveFiles files = files()) {
            assertTrue(files.create("a/file", out -> out.write(content)));
            try (ArchiveFiles.Input input = files.open("a/file")) {
                for (int position : new int[] {LARGE - 100, 0, 5 << 20, (5 << 20) - 50, 1234567}) {
                    byte[] into = new byte[100];
                    input.readFully(position, into, 0, into.length);
                    assertTrue(Arrays.equals(Arrays.copyOfRange(content, position, position + into.length), into));
                }
            }
        }
    }

    @Test
    void withoutConditionalCreationItIsNoArchive() {
        Configuration configuration = new Configuration();
        configuration.setBoolean("fs.s3a.create.conditional.enabled", false);
        configuration.setBoolean("fs.s3a.impl.disable.cache", true);
        URI uri = uri(System.getProperty("archive.bucket"));
        ArchiveException e = assertThrows(ArchiveException.class, () -> new HadoopFiles(uri, configuration));
        assertTrue(e.getMessage().contains("creates conditionally"), e.getMessage());
        assertTrue(e.getMessage().contains("fs.s3a.create.conditional.enabled"), e.getMessage());
    }

    @Test
    void aStoreThatIgnoresConditionsIsNoArchive() throws IOException {
        try (ArchiveFiles files = new HadoopFiles(uri(System.getProperty("archive.bucket.unconditional")))) {
            for (int attempt = 0; attempt < 2; attempt++) {
                ArchiveException e = assertThrows(ArchiveException.class, () -> Archive.create(files));
                assertTrue(e.getMessage().contains("ignores"), e.getMessage());
                assertFalse(Archive.isArchive(files));
            }
        }
    }
}
