package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.errors.ArchiveException;

/** Where the jars of Hadoop or zstd are missing, an error says what is needed; an archive on file: needs neither. */
class MissingLibrariesTest {
    private static final List<String> MISSING = List.of("hadoop", "zstd");

    private static URLClassLoader withoutLibraries() throws IOException {
        List<URL> path = new ArrayList<>();
        for (String each : System.getProperty("java.class.path").split(File.pathSeparator)) {
            String file = Path.of(each).getFileName().toString();
            if (MISSING.stream().noneMatch(file::contains)) {
                path.add(Path.of(each).toUri().toURL());
            }
        }
        return new URLClassLoader(path.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }

    private interface Call {
        void on(ClassLoader loader) throws ReflectiveOperationException;
    }

    private static String failure(Call call) throws IOException {
        try (URLClassLoader loader = withoutLibraries()) {
            Throwable e = assertThrows(InvocationTargetException.class, () -> call.on(loader))
                    .getCause();
            assertEquals(ArchiveException.class.getName(), e.getClass().getName());
            return e.getMessage();
        }
    }

    @Test
    void zstdIsNamed() throws IOException {
        String message = failure(loader -> {
            Class<?> codec = loader.loadClass(ArchiveCodec.class.getName());
            codec.getMethod("checkUsable").invoke(codec.getEnumConstants()[ArchiveCodec.ZSTD.ordinal()]);
        });
        assertTrue(message.contains("com.github.luben:zstd-jni"), message);
    }

    @Test
    void hadoopIsNamed() throws IOException {
        String message = failure(loader -> loader.loadClass(Archives.class.getName())
                .getMethod("files", URI.class)
                .invoke(null, URI.create("hdfs://host/archive")));
        assertTrue(message.contains("hdfs://host/archive"), message);
        assertTrue(message.contains("hadoop-client-api"), message);
    }

    @Test
    void fileNeedsNothing() throws Exception {
        try (URLClassLoader loader = withoutLibraries()) {
            Object files = loader.loadClass(Archives.class.getName())
                    .getMethod("files", URI.class)
                    .invoke(null, URI.create("file:///archive"));
            assertEquals("LocalFiles", files.getClass().getSimpleName());
            Class<?> codec = loader.loadClass(ArchiveCodec.class.getName());
            codec.getMethod("checkUsable").invoke(codec.getEnumConstants()[ArchiveCodec.NONE.ordinal()]);
        }
    }
}
