package org.mmapqueue.archive.hadoop;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.util.functional.FutureIO;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.errors.ArchiveException;

/**
 * The files of an archive through Hadoop's FileSystem. On HDFS a new file is written below {@link #TEMPORARY}, synced and
 * renamed; in an object store it is one conditional PUT. Other file systems are not supported: a file could be
 * overwritten, or seen before it is complete.
 *
 * <p>The FileSystem is the one that Hadoop caches for the URI and the user; {@link #close} leaves it open.
 */
public final class HadoopFiles implements ArchiveFiles {
    /** Key of exclusive creation, Options.CreateFileOptionKeys of Hadoop 3.4.2 and later. */
    static final String CONDITIONAL = "fs.option.create.conditional.overwrite";

    /** File systems with a rename that fails, atomically, if the new name exists. */
    private static final Set<String> RENAMING = Set.of("hdfs", "viewfs");

    /** The host name that a file system reports when it has no locations. */
    private static final String NO_HOST = "localhost";

    private final FileSystem system;
    private final Path root;
    private final URI uri;
    private final Publication publication;

    /**
     * The files of a directory, which need not exist, with the configuration on the class path.
     *
     * @throws ArchiveException if the file system is not supported
     * @throws UncheckedIOException if there is no connection
     */
    public HadoopFiles(URI uri) {
        this(uri, new Configuration());
    }

    /**
     * The files of a directory, which need not exist.
     *
     * @throws ArchiveException if the file system is not supported
     * @throws UncheckedIOException if there is no connection
     */
    public HadoopFiles(URI uri, Configuration configuration) {
        this(uri, configuration, RENAMING);
    }

    /** @param renaming the schemes of file systems with an exclusive rename */
    HadoopFiles(URI uri, Configuration configuration, Set<String> renaming) {
        try {
            this.system = FileSystem.get(uri, configuration);
            this.root = system.makeQualified(new Path(uri));
            String text = root.toUri().toString();
            this.uri = URI.create(text.endsWith("/") ? text : text + "/");
            if (renaming.contains(uri.getScheme())) {
                this.publication = new RenamedFiles(system, configuration, root);
            } else if (system.hasPathCapability(root, CONDITIONAL)) {
                this.publication = new ConditionalFiles(system);
            } else {
                throw new ArchiveException(uri + ": an archive cannot be on a file system with the scheme "
                        + uri.getScheme() + ": it neither renames exclusively, as hdfs and viewfs do, nor creates"
                        + " conditionally (" + CONDITIONAL + "), as s3a does from Hadoop 3.4.2 on, unless"
                        + " fs.s3a.create.conditional.enabled is false");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(uri + ": no connection to this file system: " + e, e);
        } catch (UnsupportedOperationException e) {
            throw new ArchiveException(
                    uri + ": Hadoop " + VersionInfo.getVersion() + " does not run on Java "
                            + Runtime.version().feature() + " (" + e.getMessage()
                            + "): from Java 24 on, Hadoop 3.5 or later is needed",
                    e);
        } catch (RuntimeException e) {
            if (e.getCause() instanceof ClassNotFoundException) { // as Hadoop's Configuration.getClass throws it
                throw new ArchiveException(
                        uri + ": the class path does not have the file system of this scheme, such as hadoop-aws for"
                                + " s3a: " + e.getCause().getMessage(),
                        e);
            }
            if (e.getCause() instanceof UnknownHostException unknown) { // as HDFS throws it while no name is resolved
                throw new UncheckedIOException(uri + ": no connection to this file system: " + unknown, unknown);
            }
            throw e;
        }
    }

    /** The way in which a file becomes visible. */
    interface Publication {
        /** See {@link ArchiveFiles#createRoot}. */
        void createRoot() throws IOException;

        /** See {@link ArchiveFiles#create}. */
        boolean create(String name, Path target, Content content) throws IOException;

        /** See {@link ArchiveFiles#replace}. */
        void replace(String name, Path target, byte[] content) throws IOException;

        /** Whether blocks of files are on certain hosts, and directories exist as entries of their own. */
        boolean isHierarchical();
    }

    @Override
    public URI uri() {
        return uri;
    }

    private Path path(String name) {
        return name.isEmpty() ? root : new Path(root, name);
    }

    private FileStatus[] children(String directory) throws IOException {
        try {
            return system.listStatus(path(directory));
        } catch (FileNotFoundException e) {
            return new FileStatus[0];
        }
    }

    @Override
    public List<Entry> list(String directory) throws IOException {
        List<Entry> entries = new ArrayList<>();
        for (FileStatus each : children(directory)) {
            if (each.isFile()) {
                entries.add(new Entry(each.getPath().getName(), each.getLen(), each.getModificationTime()));
            }
        }
        entries.sort(Comparator.comparing(Entry::name));
        return entries;
    }

    @Override
    public List<String> directories(String directory) throws IOException {
        List<String> names = new ArrayList<>();
        for (FileStatus each : children(directory)) {
            if (each.isDirectory()) {
                names.add(each.getPath().getName());
            }
        }
        names.sort(Comparator.naturalOrder());
        return names;
    }

    @Override
    public Input open(String name) throws IOException {
        try {
            FileStatus status = system.getFileStatus(path(name));
            // Reads ranges, not the whole file: an object store must not fetch up to the end. Passes the status, which
            // names the version of the object; without it S3A may return bytes of a version that was replaced.
            FSDataInputStream in = FutureIO.awaitFuture(system.openFile(path(name))
                    .opt("fs.option.openfile.read.policy", "random")
                    .withFileStatus(status)
                    .build());
            return new HadoopInput(in, status.getLen(), uri + name);
        } catch (FileNotFoundException e) {
            throw missing(name, e);
        }
    }

    private NoSuchFileException missing(String name, IOException cause) {
        NoSuchFileException missing = new NoSuchFileException(uri + name);
        missing.initCause(cause);
        return missing;
    }

    @Override
    public void createRoot() throws IOException {
        publication.createRoot();
    }

    /** Durable as soon as it is seen: the name node writes its journal first, and a store answers when it has an object. */
    @Override
    public void makeDurable(String name) throws IOException {
        if (!system.exists(path(name))) {
            throw new NoSuchFileException(uri + name);
        }
    }

    @Override
    public boolean create(String name, Content content) throws IOException {
        return publication.create(name, path(name), content);
    }

    @Override
    public boolean createsLate() {
        return !publication.isHierarchical();
    }

    @Override
    public void replace(String name, byte[] content) throws IOException {
        publication.replace(name, path(name), content);
    }

    @Override
    public boolean delete(String name) throws IOException {
        return system.delete(path(name), false);
    }

    @Override
    public boolean deleteDirectory(String directory) throws IOException {
        try {
            return publication.isHierarchical()
                    && children(directory).length == 0
                    && system.delete(path(directory), false);
        } catch (PathIsNotEmptyDirectoryException e) {
            return false;
        }
    }

    @Override
    public List<String> hosts(String name, long position, long length) throws IOException {
        if (!publication.isHierarchical()) {
            return List.of();
        }
        Map<String, Long> bytes = new HashMap<>();
        try {
            FileStatus status = system.getFileStatus(path(name));
            long most = Math.min(length, status.getLen() - Math.min(position, status.getLen()));
            for (BlockLocation block : system.getFileBlockLocations(status, position, most)) {
                for (String host : block.getHosts()) {
                    bytes.merge(host, block.getLength(), Long::sum);
                }
            }
        } catch (FileNotFoundException e) {
            throw missing(name, e);
        }
        bytes.remove(NO_HOST);
        return bytes.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
                        .thenComparing(Map.Entry.comparingByKey()))
                .map(Map.Entry::getKey)
                .toList();
    }

    @Override
    public void close() {
        // Closes nothing, as the FileSystem is shared.
    }

    private record HadoopInput(FSDataInputStream in, long length, String name) implements Input {
        @Override
        public void readFully(long position, byte[] into, int from, int bytes) throws IOException {
            in.readFully(position, into, from, bytes);
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
