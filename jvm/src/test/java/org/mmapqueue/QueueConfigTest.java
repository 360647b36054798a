package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.errors.ConfigException;

class QueueConfigTest extends ConfigFixture {
    static Stream<Arguments> badValues() {
        return Stream.of(
                        of("capacity", "8192..1152921504606846976", "0", "8191", "-1", "99999999999g", "large"),
                        of(
                                "segment_size",
                                "4096..1073741824",
                                "0",
                                "1",
                                "4095",
                                "1073741825",
                                "2g",
                                "-4096",
                                "99999999999g"),
                        of("max_in_mem_segments", "1..1048576", "0", "-1", "1048577", "ten", "", "1.5", "4k"),
                        of("queue_capacity_segments", "2..1073741824", "1", "0", "-5", "1073741825", "x"),
                        of("flush_period", "1..2147483647 ms", "0", "-1", "2147483648", "1s"),
                        of("flush_ceiling_num", "1..2147483647", "0", "-1", "2147483648", "many"),
                        of("max_event_size", "1..134217727", "0", "-1", "134217728", "128m", "1t"),
                        of("timestamps", "true or false", "yes", "1", ""),
                        of("format_version", "2 or 1", "0", "3", "v2"),
                        of("v1_recover", "watermark or writing", "reading", ""),
                        of("read_only", "false or true", "no"),
                        of("max_unacked", "1..1073741824", "0", "-1", "1073741825", "1m", "all"),
                        of("visibility_timeout", "0..2147483647 ms", "-1", "2147483648", "1s"),
                        of("max_attempts", "0..10000", "-1", "10001", "three"),
                        of("max_consumer_lag", "0..9223372036854775807", "-1", "99999999999g", "far"),
                        of("retain_ms", "0..9223372036854775807 ms", "-1", "9223372036854775808", "1d"),
                        of("retain_bytes", "0..9223372036854775807", "-1", "-1k", "x"),
                        of("gc_on_idle", "0..2147483647 ms", "-1", "2147483648", "soon"),
                        of("wait_strategy", "backoff or park or spin", "sleep", ""),
                        of("file_mode", "600 or 640 or 644 or 660 or 664 or 666", "0600", "700", "060", "rw", ""),
                        of("dead_letter_dir", "the path of a directory", "a\0b"))
                .flatMap(List::stream);
    }

    @ParameterizedTest
    @MethodSource("badValues")
    void aBadValueThrowsWithKeyValueAndRange(String key, String range, String value) {
        Path directory = temp.resolve("queue");
        ConfigException thrown =
                thrownBy(() -> MmapQueue.open(QueueConfig.of(Map.of("queue_dir", directory.toString(), key, value))));
        assertEquals(key, thrown.key());
        assertEquals(value, thrown.value());
        // The error of a text that is not a size describes how sizes are written.
        boolean number = value.matches("-?\\d{1,18}");
        assertTrue(thrown.allowed().contains(range) || !number, thrown.getMessage());
        assertTrue(thrown.getMessage().contains(key) && thrown.getMessage().contains(value), thrown.getMessage());
        assertFalse(Files.exists(directory));
    }

    @ParameterizedTest
    @CsvSource({
        "capacity, 8192, 8192",
        "capacity, 512m, 536870912",
        "segment_size, 4096, 4096",
        "segment_size, 1g, 1073741824",
        "segment_size, 4097, 4096",
        "segment_size, 10000, 8192",
        "max_in_mem_segments, 1, 4",
        "max_in_mem_segments, 3, 4",
        "max_in_mem_segments, 4, 4",
        "max_in_mem_segments, ' 12 ', 12",
        "queue_capacity_segments, 2, 2",
        "flush_period, 1, 1",
        "flush_ceiling_num, 2147483647, 2147483647",
        "max_event_size, 134217727, 134217727",
        "max_event_size, 20k, 20480",
        "timestamps, FALSE, false",
        "format_version, 1, 1",
        "v1_recover, Writing, writing",
        "read_only, true, true",
        "max_unacked, 1, 1",
        "max_unacked, 1073741824, 1073741824",
        "visibility_timeout, 0, 0",
        "visibility_timeout, 2147483647, 2147483647",
        "max_attempts, 10000, 10000",
        "dead_letter_dir, some//where/, some/where",
        "dead_letter_dir, '', ''",
        "max_consumer_lag, 16m, 16777216",
        "max_consumer_lag, 9223372036854775807, 9223372036854775807",
        "retain_ms, 86400000, 86400000",
        "retain_bytes, 1g, 1073741824",
        "gc_on_idle, 5000, 5000",
        "wait_strategy, Park, park",
        "file_mode, 640, 640"
    })
    void validValuesAreNormalised(String key, String value, String kept) {
        QueueConfig config = QueueConfig.of(Map.of("queue_dir", "somewhere", key, value));
        assertEquals(Map.of("queue_dir", "somewhere", key, kept), config.asMap());
        assertEquals(config.asMap(), QueueConfig.of(config.asMap()).asMap());
    }

    @Test
    void anUnknownKeyThrowsWithTheKeyThatMayHaveBeenMeant() {
        ConfigException thrown = thrownBy(() -> QueueConfig.of(Map.of("queue_dir", "x", "segmentsize", "4096")));
        assertEquals("segmentsize", thrown.key());
        assertEquals("4096", thrown.value());
        assertEquals(
                "segmentsize: unknown key (did you mean segment_size?); docs/reference/configuration.md lists the keys",
                thrown.getMessage());
        assertEquals(
                "xyzzy: unknown key; docs/reference/configuration.md lists the keys",
                thrownBy(() -> QueueConfig.of(Map.of("queue_dir", "x", "xyzzy", "1")))
                        .getMessage());
    }

    @Test
    void theDirectoryIsSatellitesByDefault() {
        assertEquals(Path.of("satellite-mmap-queue"), QueueConfig.of(Map.of()).queueDir());
        assertEquals(
                Path.of("satellite-mmap-queue"), QueueConfig.builder().build().queueDir());
        assertEquals(
                "satellite-mmap-queue",
                QueueConfig.of(Map.of("flush_period", "5")).asMap().get("queue_dir"));
        assertEquals(
                "queue_dir",
                thrownBy(() -> QueueConfig.of(Map.of("queue_dir", ""))).key());
        assertEquals(
                "queue_dir",
                thrownBy(() -> QueueConfig.of(Map.of("queue_dir", "a\0b"))).key());
        assertThrows(NullPointerException.class, () -> QueueConfig.builder(null));
    }

    @Test
    void aNullValueThrowsWithItsKey() {
        Map<String, String> options = new HashMap<>(Map.of("queue_dir", "x"));
        options.put("flush_period", null);
        assertEquals("flush_period", thrownBy(() -> QueueConfig.of(options)).key());
    }

    static Stream<Arguments> badCalls() {
        return Stream.of(
                call("capacity", builder -> builder.capacity(100)),
                call("capacity", builder -> builder.capacity("much")),
                call("segment_size", builder -> builder.segmentSize(100)),
                call("segment_size", builder -> builder.segmentSize("big")),
                call("max_in_mem_segments", builder -> builder.maxInMemSegments(0)),
                call("queue_capacity_segments", builder -> builder.queueCapacitySegments(1)),
                call("flush_period", builder -> builder.flushPeriod(Duration.ofMillis(0))),
                call("flush_ceiling_num", builder -> builder.flushCeilingNum(0)),
                call("max_event_size", builder -> builder.maxEventSize(-1)),
                call("max_event_size", builder -> builder.maxEventSize("1x")),
                call("format_version", builder -> builder.formatVersion(3)),
                call("v1_recover", builder -> builder.v1Recover("all")),
                call("max_unacked", builder -> builder.maxUnacked(0)),
                call("visibility_timeout", builder -> builder.visibilityTimeout(Duration.ofMillis(-1))),
                call("max_attempts", builder -> builder.maxAttempts(10_001)),
                call("max_consumer_lag", builder -> builder.maxConsumerLag(-1)),
                call("retain_ms", builder -> builder.retain(Duration.ofMillis(-1))),
                call("retain_bytes", builder -> builder.retainBytes(-1)),
                call("gc_on_idle", builder -> builder.gcOnIdle(Duration.ofMillis(-1))),
                call("wait_strategy", builder -> builder.waitStrategy("nap")),
                call("file_mode", builder -> builder.fileMode("777")));
    }

    private static Arguments call(String key, Consumer<QueueConfig.Builder> call) {
        return Arguments.of(key, call);
    }

    @ParameterizedTest
    @MethodSource("badCalls")
    void theBuilderThrowsAtOnce(String key, Consumer<QueueConfig.Builder> call) {
        assertEquals(key, thrownBy(() -> call.accept(builder())).key());
    }

    @Test
    void durationsAreRoundedUpToMillis() {
        for (Duration each : List.of(Duration.ofNanos(1), Duration.ofMillis(1))) {
            Map<String, String> built = builder()
                    .flushPeriod(each)
                    .visibilityTimeout(each)
                    .retain(each)
                    .gcOnIdle(each)
                    .maxAge(each)
                    .build()
                    .asMap();
            for (String key : List.of("flush_period", "visibility_timeout", "retain_ms", "gc_on_idle", "max_age")) {
                assertEquals("1", built.get(key), key);
            }
        }
        assertEquals(
                "1001",
                builder()
                        .retain(Duration.ofNanos(1_000_000_001))
                        .build()
                        .asMap()
                        .get("retain_ms"));
    }

    @Test
    void aDurationThatNoLongHoldsIsOutOfRange() {
        for (Duration each : List.of(Duration.ofSeconds(Long.MAX_VALUE, 999_999_999), Duration.ofNanos(-1))) {
            ConfigException thrown = thrownBy(() -> builder().visibilityTimeout(each));
            assertEquals("visibility_timeout", thrown.key());
            assertEquals(each.toString(), thrown.value());
            assertEquals("max_age", thrownBy(() -> builder().maxAge(each)).key());
        }
    }

    @Test
    void theBuilderAndTheMapAreEquivalent() {
        QueueConfig built = QueueConfig.builder(Path.of("dir"))
                .capacity("72k")
                .segmentSize("8k")
                .maxInMemSegments(5)
                .queueCapacitySegments(9)
                .flushPeriod(Duration.ofMillis(10))
                .flushCeilingNum(11)
                .maxEventSize("1k")
                .timestamps(false)
                .formatVersion(2)
                .readOnly(false)
                .build();
        assertEquals(
                Map.of(
                                "queue_dir",
                                "dir",
                                "capacity",
                                "73728",
                                "segment_size",
                                "8192",
                                "max_in_mem_segments",
                                "5",
                                "queue_capacity_segments",
                                "9",
                                "flush_period",
                                "10",
                                "flush_ceiling_num",
                                "11",
                                "max_event_size",
                                "1024",
                                "timestamps",
                                "false",
                                "format_version",
                                "2")
                        .entrySet(),
                without(built.asMap(), "read_only").entrySet());
        assertEquals(Path.of("dir"), built.queueDir());
        assertEquals(built.asMap().toString(), built.toString());
    }

    @Test
    void theBuilderAndTheMapAreEquivalentForArchives() {
        Map<String, String> built = QueueConfig.builder(Path.of("dir"))
                .archiveUri(URI.create("hdfs://nodes/archive/"))
                .archiveHost("node-1")
                .archiveCodec("zstd")
                .archiveRetain(Duration.ofDays(7))
                .shipPeriod(Duration.ofMillis(250))
                .shipBytes(1 << 20)
                .build()
                .asMap();
        assertEquals(
                QueueConfig.of(Map.of(
                                "queue_dir", "dir",
                                "archive_uri", "hdfs://nodes/archive",
                                "archive_host", "node-1",
                                "archive_codec", "zstd",
                                "archive_retain", "604800000",
                                "ship_period", "250",
                                "ship_bytes", "1m"))
                        .asMap(),
                built);
    }

    @ParameterizedTest
    @CsvSource({
        "/a/b, file:///a/b",
        "/a/../b/, file:///b",
        "'/a b', file:///a%20b",
        "file:/a, file:///a",
        "s3a://bucket, s3a://bucket",
        "s3a://user@bucket/a/b/, s3a://user@bucket/a/b"
    })
    void locationsAreUris(String text, String expected) {
        assertEquals(
                expected, QueueConfig.of(Map.of("archive_uri", text)).asMap().get("archive_uri"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "hdfs:a",
                "file://host/a",
                "s3a://user:secret@bucket/a",
                "hdfs://a/b?c",
                "hdfs://a/b#c",
                "hdfs:// a"
            })
    void otherLocationsThrow(String text) {
        assertThrows(ConfigException.class, () -> QueueConfig.of(Map.of("archive_uri", text)));
    }

    @Test
    void theBuilderAndTheMapAreEquivalentForConsumersAndRetention() {
        QueueConfig built = QueueConfig.builder(Path.of("dir"))
                .maxUnacked(5)
                .visibilityTimeout(Duration.ofMillis(6))
                .maxAttempts(7)
                .deadLetterDir(Path.of("dead"))
                .maxConsumerLag(8)
                .retain(Duration.ofMillis(9))
                .retainBytes(10)
                .gcOnIdle(Duration.ofMillis(11))
                .waitStrategy("park")
                .build();
        assertEquals(
                "writing",
                QueueConfig.builder().v1Recover("writing").build().asMap().get("v1_recover"));
        assertEquals(
                Map.of(
                                "queue_dir",
                                "dir",
                                "max_unacked",
                                "5",
                                "visibility_timeout",
                                "6",
                                "max_attempts",
                                "7",
                                "dead_letter_dir",
                                "dead",
                                "max_consumer_lag",
                                "8",
                                "retain_ms",
                                "9",
                                "retain_bytes",
                                "10",
                                "gc_on_idle",
                                "11",
                                "wait_strategy",
                                "park")
                        .entrySet(),
                built.asMap().entrySet());
    }

    @Test
    void theBuilderSetsTheFileMode() {
        assertEquals(
                Map.of("queue_dir", "dir", "file_mode", "640"),
                QueueConfig.builder(Path.of("dir")).fileMode("640").build().asMap());
    }

    private static Map<String, String> without(Map<String, String> map, String key) {
        Map<String, String> rest = new HashMap<>(map);
        assertEquals("false", rest.remove(key));
        return rest;
    }
}
