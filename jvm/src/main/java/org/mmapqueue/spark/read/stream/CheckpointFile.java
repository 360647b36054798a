package org.mmapqueue.spark.read.stream;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Optional;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.internal.SQLConf;
import org.mmapqueue.spark.common.ConsumersOfQueries;

/**
 * The source's own state in the checkpoint of a query: a {@link StreamOrigin} in files {@code queue-0}, {@code
 * queue-1}, …, of which the last one is valid. A file is written under a temporary name and renamed, which is atomic in
 * every file system that can hold a checkpoint. Not thread-safe.
 */
final class CheckpointFile {
    private static final String PREFIX = "queue-";
    private static final String DIGEST = "SHA-256";
    private static final int NAME_BYTES = 8;
    private static final String LOCATION_KEY = "spark.sql.streaming.checkpointLocation";
    private static final String UUID_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    /** A source, by number or by name, in Spark's checkpoint of a query without checkpointLocation. */
    private static final String TEMPORARY = ".*/temporary-" + UUID_PATTERN + "/sources/[^/]+";

    private final Path directory;
    private final FileSystem files;
    private final Configuration configuration;

    /**
     * Makes the object, and reads nothing yet.
     *
     * @param location the source's own directory in the checkpoint
     * @param configuration Hadoop's configuration of the file systems
     */
    CheckpointFile(String location, Configuration configuration) {
        this.configuration = configuration;
        Path path = new Path(location);
        try {
            files = path.getFileSystem(configuration);
        } catch (IOException e) {
            throw new UncheckedIOException("the checkpoint " + location + " cannot be reached: " + e, e);
        }
        directory = files.makeQualified(path);
    }

    /** The directory as a qualified URI, which is the same for all spellings. */
    @Override
    public String toString() {
        return directory.toString();
    }

    /** The consumer of a query without option consumer; the name is the same at each start with this checkpoint. */
    String consumerName() {
        try {
            byte[] digest = MessageDigest.getInstance(DIGEST).digest(toString().getBytes(StandardCharsets.UTF_8));
            StringBuilder name = new StringBuilder();
            for (int i = 0; i < NAME_BYTES; i++) {
                name.append(String.format("%02x", digest[i]));
            }
            return ConsumersOfQueries.name(name.toString(), isTemporary());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("no " + DIGEST + " in this JVM", e);
        }
    }

    /** Whether the checkpoint is temporary: Spark deletes it when the query ends. */
    boolean isTemporary() {
        return directory.toUri().getPath().matches(TEMPORARY);
    }

    /**
     * Whether Spark has generated the checkpoint below spark.sql.streaming.checkpointLocation, for a query with neither
     * checkpointLocation nor a name. Spark does not delete such a checkpoint, and the next start of the query uses
     * another.
     */
    boolean isGenerated() {
        String beneath = SQLConf.get().getConfString(LOCATION_KEY, null);
        Path checkpoint = directory.getParent().getParent();
        return beneath != null
                && checkpoint.getName().matches(UUID_PATTERN)
                && new Path(beneath)
                        .toUri()
                        .getPath()
                        .equals(checkpoint.getParent().toUri().getPath());
    }

    /**
     * Whether the directory of a source exists.
     *
     * @param source the directory in a checkpoint, as {@link #toString} gives it
     */
    boolean isThere(String source) {
        Path path = new Path(source);
        try {
            return path.getFileSystem(configuration).exists(path);
        } catch (IOException e) {
            throw new UncheckedIOException("the checkpoint " + source + " cannot be reached: " + e, e);
        }
    }

    /** Spark's log of the query's micro-batches. */
    BatchLog batches() {
        return new BatchLog(files, directory);
    }

    /** The last state written; empty before the query's first batch. */
    Optional<StreamOrigin> read() {
        try {
            int last = last();
            if (last < 0) {
                return Optional.empty();
            }
            Path file = file(last);
            try (FSDataInputStream in = files.open(file)) {
                String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
                return Optional.of(StreamOrigin.parse(text, file.toString()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the checkpoint " + this + " cannot be read: " + e, e);
        }
    }

    /** Writes a new file. Earlier files are kept for inspection. */
    void write(StreamOrigin origin) {
        Path fresh = new Path(directory, "." + PREFIX + UUID.randomUUID());
        try {
            files.mkdirs(directory);
            Path file = file(last() + 1);
            try (FSDataOutputStream out = files.create(fresh, false)) {
                out.write(origin.json().getBytes(StandardCharsets.UTF_8));
                out.hsync();
            }
            if (!files.rename(fresh, file)) {
                throw new IOException(
                        fresh + " could not be renamed to " + file + "; does another query write this checkpoint?");
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the checkpoint " + this + " cannot be written: " + e, e);
        }
    }

    private Path file(int number) {
        return new Path(directory, PREFIX + number);
    }

    private int last() throws IOException {
        int last = -1;
        if (files.exists(directory)) {
            for (FileStatus each : files.listStatus(directory)) {
                String name = each.getPath().getName();
                if (name.matches(PREFIX + "[0-9]{1,9}")) {
                    last = Math.max(last, Integer.parseInt(name.substring(PREFIX.length())));
                }
            }
        }
        return last;
    }
}
