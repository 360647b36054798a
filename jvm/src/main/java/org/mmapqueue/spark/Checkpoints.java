package org.mmapqueue.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Which checkpoints of queries are there.
 *
 * @param configuration says how file systems are reached
 */
record Checkpoints(Configuration configuration) {

    /** The checkpoint that holds a source's own directory, {@code <checkpoint>/sources/<n>}. */
    static String rootOf(String source) {
        Path path = new Path(source);
        Path sources = path.getParent();
        return sources == null || sources.getParent() == null
                ? source
                : sources.getParent().toString();
    }

    /**
     * Whether a checkpoint is there.
     *
     * @throws UncheckedIOException when its file system can not be asked: nobody knows then
     */
    boolean isThere(String checkpoint) {
        Path path = new Path(checkpoint);
        try {
            return path.getFileSystem(configuration).exists(path);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "whether the checkpoint " + checkpoint + " is there can not be told: " + e, e);
        }
    }
}
