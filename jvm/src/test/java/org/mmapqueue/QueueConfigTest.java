package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

class QueueConfigTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig.Builder builder() {
        return QueueConfig.builder(temp.resolve("queue"));
    }

    private static ConfigException thrownBy(Runnable call) {
        return assertThrows(ConfigException.class, call::run);
    }

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
                        of("flush_period", "1..2147483647", "0", "-1", "2147483648", "1s"),
                        of("flush_ceiling_num", "1..2147483647", "0", "-1", "2147483648", "many"),
                        of("max_event_size", "1..134217727", "0", "-1", "134217728", "128m", "1t"),
                        of("timestamps", "true or false", "yes", "1", ""),
                        of("format_version", "2 or 1", "0", "3", "v2"),
                        of("v1_recover", "watermark or writing", "reading", ""),
                        of("read_only", "false or true", "no"),
                        of("max_unacked", "1..1073741824", "0", "-1", "1073741825", "1m", "all"),
                        of("visibility_timeout", "0..2147483647", "-1", "2147483648", "1s"),
                        of("max_attempts", "0..10000", "-1", "10001", "three"),
                        of("max_consumer_lag", "0..9223372036854775807", "-1", "99999999999g", "far"),
                        of("retain_ms", "0..9223372036854775807", "-1", "9223372036854775808", "1d"),
                        of("retain_bytes", "0..9223372036854775807", "-1", "-1k", "x"),
                        of("gc_on_idle", "0..2147483647", "-1", "2147483648", "soon"),
                        of("wait_strategy", "backoff or park or spin", "sleep", ""),
                        of("file_mode", "600 or 640 or 644 or 660 or 664 or 666", "0600", "700", "060", "rw", ""),
                        of("dead_letter_dir", "the path of a directory", "a\0b"))
                .flatMap(List::stream);
    }

    private static List<Arguments> of(String key, String range, String... values) {
        return Stream.of(values).map(value -> Arguments.of(key, range, value)).toList();
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
    void anUnknownKeyThrowsAndNamesTheKnownOnes() {
        ConfigException thrown = thrownBy(() -> QueueConfig.of(Map.of("queue_dir", "x", "segmentsize", "4096")));
        assertEquals("segmentsize", thrown.key());
        assertEquals("4096", thrown.value());
        for (ConfigKey key : ConfigKey.values()) {
            assertTrue(thrown.getMessage().contains(key.keyName()), thrown.getMessage());
        }
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

    @Test
    void theBuilderThrowsAtOnce() {
        assertEquals("capacity", thrownBy(() -> builder().capacity(100)).key());
        assertEquals("capacity", thrownBy(() -> builder().capacity("much")).key());
        assertEquals("segment_size", thrownBy(() -> builder().segmentSize(100)).key());
        assertEquals(
                "segment_size", thrownBy(() -> builder().segmentSize("big")).key());
        assertEquals(
                "max_in_mem_segments",
                thrownBy(() -> builder().maxInMemSegments(0)).key());
        assertEquals(
                "queue_capacity_segments",
                thrownBy(() -> builder().queueCapacitySegments(1)).key());
        assertEquals(
                "flush_period",
                thrownBy(() -> builder().flushPeriod(Duration.ofMillis(0))).key());
        assertEquals(
                "flush_ceiling_num",
                thrownBy(() -> builder().flushCeilingNum(0)).key());
        assertEquals(
                "max_event_size", thrownBy(() -> builder().maxEventSize(-1)).key());
        assertEquals(
                "max_event_size", thrownBy(() -> builder().maxEventSize("1x")).key());
        assertEquals(
                "format_version", thrownBy(() -> builder().formatVersion(3)).key());
        assertEquals("v1_recover", thrownBy(() -> builder().v1Recover("all")).key());
        assertEquals("max_unacked", thrownBy(() -> builder().maxUnacked(0)).key());
        assertEquals(
                "visibility_timeout",
                thrownBy(() -> builder().visibilityTimeout(Duration.ofMillis(-1)))
                        .key());
        assertEquals(
                "max_attempts", thrownBy(() -> builder().maxAttempts(10_001)).key());
        assertEquals(
                "max_consumer_lag", thrownBy(() -> builder().maxConsumerLag(-1)).key());
        assertEquals(
                "retain_ms",
                thrownBy(() -> builder().retain(Duration.ofMillis(-1))).key());
        assertEquals("retain_bytes", thrownBy(() -> builder().retainBytes(-1)).key());
        assertEquals(
                "gc_on_idle",
                thrownBy(() -> builder().gcOnIdle(Duration.ofMillis(-1))).key());
        assertEquals(
                "wait_strategy", thrownBy(() -> builder().waitStrategy("nap")).key());
    }

    @Test
    void durationsAreRoundedUpToMillis() {
        for (Duration each : List.of(Duration.ofNanos(1), Duration.ofMillis(1))) {
            Map<String, String> built = builder()
                    .flushPeriod(each)
                    .visibilityTimeout(each)
                    .retain(each)
                    .gcOnIdle(each)
                    .build()
                    .asMap();
            for (String key : List.of("flush_period", "visibility_timeout", "retain_ms", "gc_on_idle")) {
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
        assertEquals("file_mode", thrownBy(() -> builder().fileMode("777")).key());
    }

    private static Map<String, String> without(Map<String, String> map, String key) {
        Map<String, String> rest = new HashMap<>(map);
        assertEquals("false", rest.remove(key));
        return rest;
    }

    @Test
    void aNewQueueHasTheDefaults() {
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            Map<String, String> effective = queue.config().asMap();
            QueueConfig.defaults().forEach((key, value) -> assertEquals(value, effective.get(key), key));
            assertEquals("536870912", effective.get("capacity"));
            assertEquals("8388608", effective.get("segment_size"));
            assertEquals("64", effective.get("max_in_mem_segments"));
            assertEquals("64", effective.get("queue_capacity_segments"));
            assertEquals("1000", effective.get("flush_period"));
            assertEquals("10000", effective.get("flush_ceiling_num"));
            assertEquals("1048576", effective.get("max_event_size"));
            assertEquals("2", effective.get("format_version"));
            assertEquals("true", effective.get("timestamps"));
            assertEquals("watermark", effective.get("v1_recover"));
            assertEquals("false", effective.get("read_only"));
        }
    }

    @Test
    void aQueueWithFewRecordsTakesThreeSegmentsOfDisk() throws Exception {
        QueueConfig config = builder().build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertEquals(0, segmentFiles().count());
            queue.push(Payload.of(1, 100));
            Waiting.until("two segments are preallocated", () -> queue.stats().mappedBytes() > 3 * (8L << 20));
            for (int i = 0; i < 1000; i++) {
                queue.push(Payload.of(i, 1000));
            }
        }
        assertEquals(
                List.of(8L << 20, 8L << 20, 8L << 20),
                segmentFiles().map(file -> file.toFile().length()).toList());
    }

    private Stream<Path> segmentFiles() throws IOException {
        try (Stream<Path> files = Files.list(temp.resolve("queue"))) {
            return files.filter(file -> file.toString().endsWith("_segment.dat")).toList().stream();
        }
    }

    @Test
    void theDefaultsOfVersion1AreSatellites() {
        try (MmapQueue queue = MmapQueue.open(builder().formatVersion(1).build())) {
            Map<String, String> effective = queue.config().asMap();
            assertEquals("131072", effective.get("segment_size"));
            assertEquals("10", effective.get("max_in_mem_segments"));
            assertEquals("4000", effective.get("queue_capacity_segments"));
            assertEquals("1000", effective.get("flush_period"));
            assertEquals("10000", effective.get("flush_ceiling_num"));
            assertEquals("20480", effective.get("max_event_size"));
        }
    }

    @Test
    void anExistingQueueKeepsItsSizes() {
        MmapQueue.open(builder().capacity("3m").segmentSize("64k").build()).close();
        // Rounded up to whole segments, it is the same.
        try (MmapQueue queue = MmapQueue.open(builder().capacity("3m").build());
                MmapQueue same =
                        MmapQueue.open(builder().capacity((3 << 20) - 65_535).build())) {
            assertEquals("65536", queue.config().asMap().get("segment_size"));
            assertEquals("3145728", same.config().asMap().get("capacity"));
            ConfigException thrown =
                    thrownBy(() -> MmapQueue.open(builder().capacity("2m").build()));
            assertEquals("capacity", thrown.key());
            assertTrue(thrown.allowed().contains("is open in this process already, with 3145728"), thrown.allowed());
        }
        ConfigException thrown =
                thrownBy(() -> MmapQueue.open(builder().capacity("3073k").build()));
        assertEquals("capacity", thrown.key());
        assertTrue(thrown.allowed().endsWith("3145728 (48 segments of 65536)"), thrown.allowed());
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            assertEquals("48", queue.config().asMap().get("max_in_mem_segments"));
        }
    }

    @Test
    void withoutFurtherKeysConsumersAreUnboundedAndNothingIsRetained() {
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            Map<String, String> effective = queue.config().asMap();
            assertEquals("1000000", effective.get("max_unacked"));
            for (String key : List.of(
                    "visibility_timeout",
                    "max_attempts",
                    "max_consumer_lag",
                    "retain_ms",
                    "retain_bytes",
                    "gc_on_idle")) {
                assertEquals("0", effective.get(key), key);
            }
            assertEquals("", effective.get("dead_letter_dir"));
            assertEquals("backoff", effective.get("wait_strategy"));
        }
    }

    @Test
    void theQueueReportsItsEffectiveConfiguration() {
        QueueConfig set = builder()
                .maxUnacked(5)
                .visibilityTimeout(Duration.ofMillis(60_000))
                .maxAttempts(7)
                .deadLetterDir(temp.resolve("dead"))
                .maxConsumerLag(1 << 20)
                .retain(Duration.ofMillis(9))
                .retainBytes(10)
                .gcOnIdle(Duration.ofMillis(60_000))
                .waitStrategy("park")
                .build();
        try (MmapQueue queue = MmapQueue.open(set)) {
            set.asMap()
                    .forEach((key, value) ->
                            assertEquals(value, queue.config().asMap().get(key), key));
        }
    }

    @Test
    void maxAttemptsAndDeadLetterDirAreSetTogether() {
        ConfigException noDirectory =
                thrownBy(() -> MmapQueue.open(builder().maxAttempts(3).build()));
        assertEquals("dead_letter_dir", noDirectory.key());
        ConfigException noAttempts = thrownBy(() ->
                MmapQueue.open(builder().deadLetterDir(temp.resolve("dead")).build()));
        assertEquals("max_attempts", noAttempts.key());
        for (Path own : List.of(temp.resolve("queue"), temp.resolve("other/../queue/."))) {
            ConfigException itself = thrownBy(() ->
                    MmapQueue.open(builder().maxAttempts(3).deadLetterDir(own).build()));
            assertEquals("dead_letter_dir", itself.key());
        }
        assertFalse(Files.exists(temp.resolve("queue")));
    }

    @Test
    void retainMillisNeedsTimestamps() {
        ConfigException thrown = thrownBy(() -> MmapQueue.open(
                builder().timestamps(false).retain(Duration.ofMillis(5)).build()));
        assertEquals("retain_ms", thrown.key());
        assertEquals("5", thrown.value());
        MmapQueue.open(builder().timestamps(false).retainBytes(5).build()).close();
        assertEquals(
                "retain_ms",
                thrownBy(() -> MmapQueue.open(
                                builder().retain(Duration.ofMillis(5)).build()))
                        .key());
    }

    @ParameterizedTest
    @CsvSource({"max_consumer_lag, 100000", "retain_ms, 5", "retain_bytes, 70000"})
    void version1DoesNotSupportTheseKeys(String key, String value) {
        ConfigException thrown = thrownBy(() -> MmapQueue.open(QueueConfig.of(
                Map.of("queue_dir", temp.resolve("queue").toString(), "format_version", "1", key, value))));
        assertEquals(key, thrown.key());
        assertEquals(value, thrown.value());
        assertFalse(Files.exists(temp.resolve("queue")));
    }

    /** The ring must hold the largest record besides a segment that is partly acked. */
    @ParameterizedTest
    @CsvSource({"4096, 2, 4010", "4096, 2, 134217727", "4096, 3, 8050", "8192, 4, 24400"})
    void aRingTooSmallForItsLargestRecordThrows(int segment, int capacity, int maxEvent) {
        ConfigException thrown = thrownBy(() -> MmapQueue.open(builder()
                .segmentSize(segment)
                .queueCapacitySegments(capacity)
                .maxEventSize(maxEvent)
                .build()));
        assertEquals("max_event_size", thrown.key());
        assertEquals(Integer.toString(maxEvent), thrown.value());
        assertFalse(Files.exists(temp.resolve("queue").resolve("meta.dat")));
    }

    @ParameterizedTest
    @CsvSource({"4096, 2, 4009", "4096, 3, 8041", "8192, 4, 24361"})
    void theLargestAllowedRecordFitsAtAnyLogEnd(int segment, int capacity, int maxEvent) {
        try (MmapQueue queue = MmapQueue.open(builder()
                .segmentSize(segment)
                .queueCapacitySegments(capacity)
                .maxEventSize(maxEvent)
                .flushPeriod(Duration.ofMinutes(10))
                .build())) {
            for (int i = 0; i < 60; i++) {
                queue.push(Payload.of(i, i * 67 % 700));
                queue.consumer().ack(queue.consumer().pop().offset());
                byte[] largest = Payload.of(i, maxEvent);
                long offset = queue.push(largest);
                Payload.assertMessages(offset, List.of(largest), Payload.drain(queue));
                queue.consumer().ack(offset);
            }
        }
    }

    @Test
    void aLargerMaxEventSizeIsStoredAndASmallerOneLimitsThisWriterAlone() {
        try (MmapQueue queue = MmapQueue.open(builder().maxEventSize(1000).build())) {
            queue.push(new byte[1000]);
        }
        try (MmapQueue queue = MmapQueue.open(builder().maxEventSize(5000).build())) {
            queue.push(new byte[5000]);
        }
        try (MmapQueue queue = MmapQueue.open(builder().maxEventSize(10).build())) {
            assertThrows(TooLargeException.class, () -> queue.push(new byte[11]));
            assertEquals(1000, queue.consumer().pop().data().length);
            assertEquals(5000, queue.consumer().pop().data().length);
        }
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            assertEquals("5000", queue.config().asMap().get("max_event_size"));
        }
    }

    @Test
    void timestampsCanBeTurnedOnAndOff() {
        boolean[] stamps = {true, false, true};
        for (int i = 0; i < stamps.length; i++) {
            try (MmapQueue queue =
                    MmapQueue.open(builder().timestamps(stamps[i]).build())) {
                queue.push(new byte[i]);
            }
        }
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            for (int i = 0; i < stamps.length; i++) {
                Message message = queue.consumer().pop();
                assertEquals(i, message.data().length);
                assertEquals(stamps[i], message.timestampMicros() > 0);
            }
        }
    }
}
