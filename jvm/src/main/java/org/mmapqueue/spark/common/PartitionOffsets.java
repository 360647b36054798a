package org.mmapqueue.spark.common;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * One offset for each partition, as text {@code {"0":12,"1":40}}. Immutable.
 *
 * @param map offsets by partition
 */
public record PartitionOffsets(SortedMap<Integer, Long> map) implements Serializable {
    private static final ObjectMapper JSON = new ObjectMapper()
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT);

    /**
     * Offsets by partition.
     *
     * @param map offsets by partition; copied
     */
    public PartitionOffsets(SortedMap<Integer, Long> map) {
        this.map = Collections.unmodifiableSortedMap(new TreeMap<>(map));
    }

    /**
     * Parses JSON.
     *
     * @param json an object of offsets by partition
     * @return the offsets
     * @throws IllegalArgumentException if the text is invalid
     */
    public static PartitionOffsets parse(String json) {
        try {
            Map<String, Long> byName = JSON.readValue(json, new TypeReference<Map<String, Long>>() {});
            TreeMap<Integer, Long> map = new TreeMap<>();
            for (Map.Entry<String, Long> each : byName.entrySet()) {
                int partition = Integer.parseInt(each.getKey());
                if (partition < 0 || each.getValue() == null || map.put(partition, each.getValue()) != null) {
                    throw new NumberFormatException(each.getKey());
                }
            }
            return new PartitionOffsets(map);
        } catch (IOException | NumberFormatException e) {
            throw new IllegalArgumentException(
                    "offsets " + json + "; expected an offset for each partition, such as {\"0\":12,\"1\":40}", e);
        }
    }

    /**
     * The offset of a partition.
     *
     * @param partition the partition's number
     * @param missing the default
     * @return the offset
     */
    public long of(int partition, long missing) {
        return map.getOrDefault(partition, missing);
    }

    /**
     * These offsets as JSON.
     *
     * @return an object of offsets by partition
     */
    public String json() {
        return map.entrySet().stream()
                .map(each -> "\"" + each.getKey() + "\":" + each.getValue())
                .collect(Collectors.joining(",", "{", "}"));
    }
}
