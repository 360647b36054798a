package org.mmapqueue.spark.read.stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The identity and first offset of each partition that a query reads. The identity distinguishes a queue from its
 * successor in the same directory, which offsets alone do not. Immutable.
 *
 * @param parts by partition
 * @param archive the archive's identity; null for a local queue
 */
record StreamOrigin(SortedMap<Integer, Part> parts, UUID archive) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int VERSION = 1;
    private static final String QUEUE = "queue";
    private static final String START = "start";
    private static final String ARCHIVE = "archive";

    /**
     * The origin in one partition.
     *
     * @param queue the queue's identity
     * @param start the first offset that the query reads
     */
    record Part(UUID queue, long start) {}

    StreamOrigin(SortedMap<Integer, Part> parts, UUID archive) {
        this.parts = Collections.unmodifiableSortedMap(new TreeMap<>(parts));
        this.archive = archive;
    }

    /** Returns a copy with another origin for one partition. */
    StreamOrigin with(int partition, Part part) {
        SortedMap<Integer, Part> all = new TreeMap<>(parts);
        all.put(partition, part);
        return new StreamOrigin(all, archive);
    }

    /** As JSON. */
    String json() {
        ObjectNode partitions = JSON.createObjectNode();
        parts.forEach((id, part) -> partitions
                .putObject(Integer.toString(id))
                .put(QUEUE, part.queue().toString())
                .put(START, part.start()));
        ObjectNode root = JSON.createObjectNode().put("version", VERSION);
        if (archive != null) {
            root.put(ARCHIVE, archive.toString());
        }
        root.set("partitions", partitions);
        return root.toString();
    }

    /**
     * Parses JSON.
     *
     * @param file source of the text, for error messages
     * @throws IllegalStateException if the text is invalid
     */
    static StreamOrigin parse(String json, String file) {
        try {
            JsonNode root = JSON.readTree(json);
            if (root.path("version").asInt() != VERSION) {
                throw new IllegalArgumentException("version is " + root.path("version") + ", expected " + VERSION);
            }
            SortedMap<Integer, Part> parts = new TreeMap<>();
            for (Map.Entry<String, JsonNode> each : root.path("partitions").properties()) {
                JsonNode start = each.getValue().path(START);
                if (!start.isIntegralNumber()) {
                    throw new IllegalArgumentException("start of partition " + each.getKey() + " is " + start);
                }
                parts.put(
                        Integer.valueOf(each.getKey()),
                        new Part(UUID.fromString(each.getValue().path(QUEUE).asText()), start.asLong()));
            }
            JsonNode archive = root.path(ARCHIVE);
            return new StreamOrigin(parts, archive.isMissingNode() ? null : UUID.fromString(archive.asText()));
        } catch (IOException | IllegalArgumentException e) {
            throw new IllegalStateException(
                    file + " is not a list of the partitions that the query reads: " + e.getMessage() + "; " + json, e);
        }
    }
}
