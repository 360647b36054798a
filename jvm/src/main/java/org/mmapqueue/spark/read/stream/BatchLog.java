package org.mmapqueue.spark.read.stream;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.mmapqueue.spark.common.PartitionOffsets;

/**
 * Spark's log of micro-batches in the checkpoint of a query: {@code offsets/<n>} when micro-batch n is planned, {@code
 * commits/<n>} when it is complete. Immutable and thread-safe.
 */
final class BatchLog {
    private static final Pattern BATCH = Pattern.compile("[0-9]{1,18}");

    private final FileSystem files;
    private final Path offsets;
    private final Path commits;
    private final String source;

    /**
     * Makes the object, and reads nothing.
     *
     * @param files the file system of the checkpoint
     * @param directory the source's own directory in the checkpoint, {@code sources/<name>}
     */
    BatchLog(FileSystem files, Path directory) {
        Path checkpoint = directory.getParent().getParent();
        this.files = files;
        this.offsets = new Path(checkpoint, "offsets");
        this.commits = new Path(checkpoint, "commits");
        this.source = directory.getName();
    }

    /**
     * The source's position after the newest planned micro-batch, if that is complete: a restart of the query reads
     * nothing before it.
     *
     * @return empty if the micro-batch is not complete, or if the log has no position that this class can read
     */
    Optional<PartitionOffsets> committed() throws IOException {
        OptionalLong newest = Arrays.stream(files.listStatus(offsets))
                .map(FileStatus::getPath)
                .map(Path::getName)
                .filter(name -> BATCH.matcher(name).matches())
                .mapToLong(Long::parseLong)
                .max();
        if (newest.isEmpty()) {
            return Optional.empty();
        }
        String batch = Long.toString(newest.getAsLong());
        if (!files.exists(new Path(commits, batch))) {
            return Optional.empty();
        }
        try (FSDataInputStream in = files.open(new Path(offsets, batch))) {
            return OffsetLogFile.parse(new String(in.readAllBytes(), StandardCharsets.UTF_8), source);
        }
    }
}
