package org.mmapqueue.spark.common;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** The consumer that every queue begins with. What is known of it here is told by files, which no handle has to own. */
public final class DefaultConsumer {
    /** Its name. */
    public static final String NAME = "default";
    /** The producers that Spark's sink is known by begin so. */
    public static final String SPARK_PRODUCERS = "spark-";

    private static final String PRODUCERS = "producers";
    /** Made when a process takes it up for the first time; it stays. */
    private static final String LOCK = "consumers/" + NAME + ".lock";

    private DefaultConsumer() {
    }

    /**
     * Whether it is there for want of another one: Spark has written the partition, and nobody has ever popped, acked,
     * moved or measured by it.
     *
     * @param partition the partition's directory
     * @return whether nobody misses it
     */
    public static boolean isUnused(Path partition) {
        return !Files.exists(partition.resolve(LOCK)) && hasSparkWritten(partition.resolve(PRODUCERS));
    }

    private static boolean hasSparkWritten(Path producers) {
        if (!Files.isDirectory(producers)) {
            return false;
        }
        try (DirectoryStream<Path> found = Files.newDirectoryStream(producers, SPARK_PRODUCERS + "*.dat")) {
            return found.iterator().hasNext();
        } catch (IOException e) {
            throw new UncheckedIOException("the directory " + producers + " can not be read: " + e, e);
        }
    }
}
