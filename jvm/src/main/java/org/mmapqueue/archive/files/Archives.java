package org.mmapqueue.archive.files;

import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.nio.file.Path;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.io.FileMode;

/** Finds the implementation of {@link ArchiveFiles} for a location. */
public final class Archives {
    private static final String HADOOP = "org.mmapqueue.archive.hadoop.HadoopFiles";

    private Archives() {}

    /**
     * Returns the files of an archive: for {@code file:} and paths without a scheme through the JDK, for all others
     * through Hadoop, with the configuration that its class path holds.
     *
     * @throws ArchiveException if the scheme needs Hadoop's classes and they are missing, or is not supported
     */
    public static ArchiveFiles files(URI uri) {
        return isLocal(uri) ? new LocalFiles(localDirectory(uri)) : hadoopFiles(uri);
    }

    /**
     * Returns the files of an archive, as {@link #files(URI)}.
     *
     * @param mode permissions of new files and directories on this host; Hadoop has settings of its own
     */
    public static ArchiveFiles files(URI uri, FileMode mode) {
        return isLocal(uri) ? new LocalFiles(localDirectory(uri), mode) : hadoopFiles(uri);
    }

    private static Path localDirectory(URI uri) {
        return Path.of(uri.getScheme() == null ? uri.getPath() : localPath(uri));
    }

    private static ArchiveFiles hadoopFiles(URI uri) {
        try {
            return Class.forName(HADOOP)
                    .asSubclass(ArchiveFiles.class)
                    .getConstructor(URI.class)
                    .newInstance(uri);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw withoutHadoop(uri, e.getCause());
        } catch (ReflectiveOperationException | LinkageError e) {
            throw withoutHadoop(uri, e);
        }
    }

    /** Whether the archive is read and written by the JDK alone. */
    public static boolean isLocal(URI uri) {
        return uri.getScheme() == null || uri.getScheme().equals("file");
    }

    private static String localPath(URI uri) {
        if (uri.getPath() == null || uri.getAuthority() != null) {
            throw new IllegalArgumentException(uri + " is not a location of a directory; expected file:///directory");
        }
        return uri.getPath();
    }

    private static ArchiveException withoutHadoop(URI uri, Throwable cause) {
        return new ArchiveException(
                uri + ": an archive with the scheme " + uri.getScheme() + ": needs Hadoop's classes (hadoop-client-api"
                        + " and hadoop-client-runtime) on the class path; file: does not: " + cause,
                cause);
    }
}
