package org.mmapqueue.spark.source;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.mmapqueue.spark.common.Closing;
import org.mmapqueue.spark.common.PartitionDirectory;

/**
 * A directory of this host.
 *
 * @param root the queue's directory
 */
public record LocalLocation(Path root) implements Location {

    @Override
    public boolean exists() {
        return PartitionDirectory.isQueue(root);
    }

    /** Shares the queues that this process has open. */
    @Override
    public OpenPartitions open() {
        List<LocalPartition> opened = new ArrayList<>();
        boolean done = false;
        try {
            PartitionDirectory.find(root).forEach(each -> opened.add(new LocalPartitionLocation(each).open()));
            done = true;
        } finally {
            if (!done) {
                Closing.all(opened, LocalPartition::close);
            }
        }
        return new OpenPartitions(opened, () -> Closing.all(opened, LocalPartition::close));
    }

    @Override
    public Path directory(String action) {
        return root;
    }

    @Override
    public List<String> names() {
        try (Stream<Path> entries = Files.list(root)) {
            return entries.map(each -> each.getFileName().toString())
                    .filter(each -> child(each).exists())
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("the directory " + root + " cannot be read: " + e, e);
        }
    }

    @Override
    public Location child(String name) {
        return Location.of(root.resolve(name).toString());
    }

    @Override
    public String asUri() {
        return root.toUri().toString();
    }

    @Override
    public String toString() {
        return root.toString();
    }
}
