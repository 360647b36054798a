package org.mmapqueue.v1;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Json;

/** A directory that Satellite's own code has written, with what its manifest says of it. */
public record V1Sample(String name, Map<?, ?> manifest) {
    /** A record of a manifest. */
    record Entry(long number, int length, String sha256) {}

    /** Those that Satellite's code wrote, and those that were made by its rules. */
    static Stream<V1Sample> all() {
        return Stream.of(root(), made()).flatMap(V1Sample::all);
    }

    private static Stream<V1Sample> all(Path root) {
        try (Stream<Path> files = Files.list(root)) {
            return files.filter(file -> file.toString().endsWith(".json")).sorted().map(V1Sample::of).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static V1Sample of(String name) {
        Path file = root().resolve(name + ".json");
        return of(Files.exists(file) ? file : made().resolve(name + ".json"));
    }

    private static V1Sample of(Path file) {
        try {
            return new V1Sample(
                    file.getFileName().toString().replace(".json", ""), (Map<?, ?>) Json.parse(Files.readString(file)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** tests/data/v1-samples of the project, from wherever in it the tests run. */
    private static Path root() {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            Path samples = at.resolve("tests").resolve("data").resolve("v1-samples");
            if (Files.isDirectory(samples)) {
                return samples;
            }
        }
        throw new IllegalStateException(
                "no tests/data/v1-samples above " + Path.of("").toAbsolutePath());
    }

    private static Path made() {
        return root().resolveSibling("v1-made");
    }

    public Path copy(Path to) {
        Path from = root().resolve(name);
        return Directories.copy(Files.exists(from) ? from : made().resolve(name), to.resolve(name));
    }

    /** Whether nothing was ever pushed: then no segment size is stored in any way. */
    boolean isUnused() {
        return ((Number) manifest.get("pushed_count")).longValue() == 0;
    }

    private int configured(String key) {
        return ((Number) ((Map<?, ?>) manifest.get("config")).get(key)).intValue();
    }

    int segmentSize() {
        return configured("segment_size");
    }

    int capacity() {
        return configured("queue_capacity_segments");
    }

    int maxEventSize() {
        return configured("max_event_size");
    }

    /** The sample's own configuration; flushes only on request. */
    QueueConfig.Builder config(Path directory) {
        return QueueConfig.builder(directory)
                .formatVersion(1)
                .segmentSize(segmentSize())
                .queueCapacitySegments(capacity())
                .maxEventSize(maxEventSize())
                .maxInMemSegments(configured("max_in_mem_segments"))
                .flushPeriod(Duration.ofMinutes(10));
    }

    private List<Entry> entries(String key) {
        List<?> list = (List<?>) manifest.get(key);
        return list == null
                ? List.of()
                : list.stream()
                        .map(each -> (Map<?, ?>) each)
                        .map(each -> new Entry(
                                ((Number) each.get("i")).longValue(), ((Number) each.get("length")).intValue(), (String)
                                        each.get("sha256")))
                        .toList();
    }

    List<Entry> toDeliver() {
        return entries("to_deliver");
    }

    List<Entry> beyondWatermark() {
        return entries("beyond_watermark");
    }

    boolean isDamaged() {
        return name.startsWith("x");
    }

    String metaHex() {
        return (String) manifest.get("meta_hex");
    }

    static void assertEntries(List<Entry> expected, List<byte[]> found) {
        for (int i = 0; i < Math.min(expected.size(), found.size()); i++) {
            assertEquals(expected.get(i).length(), found.get(i).length, "length of record " + i);
            assertEquals(expected.get(i).sha256(), Directories.sha256(found.get(i)), "bytes of record " + i);
        }
        assertEquals(expected.size(), found.size(), "number of records");
    }

    @Override
    public String toString() {
        return name;
    }
}
