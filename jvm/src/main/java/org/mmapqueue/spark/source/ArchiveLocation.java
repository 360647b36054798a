package org.mmapqueue.spark.source;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.internal.SQLConf;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.hadoop.HadoopFiles;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.RunningSession;

/**
 * The location of an archive, which shippers of other hosts write.
 *
 * @param uri the archive's directory
 * @param path the location as the program gave it, for messages
 */
public record ArchiveLocation(URI uri, String path) implements Location {
    /** The file that makes a directory an archive. */
    static final String FILE = "archive.properties";

    private ArchiveFiles files() {
        if (Archives.isLocal(uri)) {
            return Archives.files(uri);
        }
        try {
            return new HadoopFiles(uri, configuration());
        } catch (IllegalArgumentException
                | UncheckedIOException
                | ArchiveException e) { // an unknown host, a missing class
            throw Options.bad(
                    Options.PATH, path, "an archive on a file system that this host reaches; " + e.getMessage());
        }
    }

    /** Hadoop's configuration of the session, as Spark's file sources have it. */
    static Configuration configuration() {
        Configuration all = new Configuration(RunningSession.context().hadoopConfiguration());
        SQLConf.get().settings().forEach(all::set);
        return all;
    }

    /**
     * Opens the archive.
     *
     * @return the archive, which the caller closes
     * @throws IllegalArgumentException if the location has no archive
     */
    public Archive openArchive() {
        ArchiveFiles files = files();
        boolean done = false;
        try {
            Archive archive = Archive.open(files);
            done = true;
            return archive;
        } catch (ArchiveException e) {
            throw Options.bad(Options.PATH, path, "an archive, or the directory of a queue; " + e.getMessage());
        } catch (IOException e) {
            throw unreadable(e);
        } finally {
            if (!done) {
                files.close();
            }
        }
    }

    /**
     * The error for a file system that cannot be reached.
     *
     * @param cause the failure
     * @return the exception to throw
     */
    public UncheckedIOException unreadable(IOException cause) {
        return new UncheckedIOException("the archive " + path + " cannot be read: " + cause, cause);
    }

    @Override
    public boolean exists() {
        try (ArchiveFiles files = files()) {
            return Archive.isArchive(files);
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    @Override
    public OpenPartitions open() {
        Archive archive = openArchive();
        boolean done = false;
        try {
            OpenPartitions partitions = new OpenPartitions(new ArchiveView(this, archive).partitions(), archive::close);
            done = true;
            return partitions;
        } finally {
            if (!done) {
                archive.close();
            }
        }
    }

    @Override
    public List<String> names() {
        try (ArchiveFiles files = files()) {
            return files.directories(".").stream()
                    .filter(each -> child(each).exists())
                    .toList();
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    @Override
    public Location child(String name) {
        return Location.of((path.endsWith("/") ? path : path + "/") + name);
    }

    @Override
    public Path directory(String action) {
        throw new UnsupportedOperationException("the archive " + path + " is read in batches and micro-batches, and"
                + " written by shippers alone: " + action + " needs a host's own queue");
    }

    @Override
    public String toString() {
        return path;
    }

    @Override
    public String asUri() {
        return uri.toString();
    }
}
