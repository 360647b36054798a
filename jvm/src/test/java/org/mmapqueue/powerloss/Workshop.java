package org.mmapqueue.powerloss;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.mmapqueue.QueueConfig;

/** Directories for queues that live for a moment. */
final class Workshop implements Closeable {
    private final Path root;
    private int made;

    Workshop(Path root) {
        this.root = root;
    }

    /** A new one, empty. */
    Path directory() throws IOException {
        return Files.createDirectory(root.resolve("q" + made++));
    }

    /** A configuration there. */
    static QueueConfig at(Map<String, String> config, Path directory) {
        Map<String, String> values = new HashMap<>(config);
        values.put("queue_dir", directory.toString());
        return QueueConfig.of(values);
    }

    /** Deletes one. */
    void remove(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        List<Path> all;
        try (Stream<Path> walk = Files.walk(directory)) {
            all = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path each : all) {
            Files.delete(each);
        }
    }

    @Override
    public void close() throws IOException {
        remove(root);
    }
}
