package org.mmapqueue.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Checks which checkpoints of queries exist.
 *
 * @param configuration Hadoop's configuration of the file systems
 */
record Checkpoints(Configuration configuration) {

    /** The checkpoint that contains a source's own directory, {@code <checkpoint>/sources/<n>}. */
    static String rootOf(String source) {
        Path path = new Path(source);
        Path sources = path.getParent();
        return sources == null || sources.getParent() == null
                ? source
                : sources.getParent().toString();
    }

    /**
     * Whether a checkpoint exists.
     *
     * @throws UncheckedIOException if the checkpoint's file system cannot be reached
     */
    boolean isThere(String checkpoint) {
        Path path = new Path(checkpoint);
        try {
            return path.getFileSystem(configuration).exists(path);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "the file system of checkpoint " + checkpoint + " cannot be reached: " + e, e);
        }
    }
}
