package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
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

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.TooLargeException;

class QueueConfigTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig.Builder builder() {
        return QueueConfig.builder(temp.resolve("queue"));
    }

    private static ConfigException refused(Runnable call) {
        return assertThrows(ConfigException.class, call::run);
    }

    static Stream<Arguments> badValues() {
        return Stream.of(
                of("segment_size", "4096..1073741824", "0", "1", "4095", "1073741825", "2g", "-4096", "99999999999g"),
                of("max_in_mem_segments", "1..1048576", "0", "-1", "1048577", "ten", "", "1.5", "4k"),
                of("queue_capacity_segments", "2..1073741824", "1", "0", "-5", "1073741825", "x"),
                of("flush_period", "1..2147483647", "0", "-1", "2147483648", "1s"),
                of("flush_ceiling_num", "1..2147483647", "0", "-1", "2147483648", "many"),
                of("max_event_size", "1..134217727", "0", "-1", "134217728", "128m", "1t"),
                of("timestamps", "true or false", "yes", "1", ""),
                of("format_version", "2 or 1", "0", "3", "v2"),
                of("v1_recover", "watermark or writing", "reading", ""),
                of("read_only", "false or true", "no"))
                .flatMap(List::stream);
    }

    private static List<Arguments> of(String key, String range, String... values) {
        return Stream.of(values).map(value -> Arguments.of(key, range, value)).toList();
    }

    @ParameterizedTest
    @MethodSource("badValues")
    void everyBadValueIsRefusedWithKeyValueAndRange(String key, String range, String value) {
        Path directory = temp.resolve("queue");
        ConfigException refused = refused(() -> MmapQueue.open(QueueConfig.of(Map.of("queue_dir",
                directory.toString(), key, value))));
        assertEquals(key, refused.key());
        assertEquals(value, refused.value());
        // A text that is no size at all is told how sizes are written.
        boolean number = value.matches("-?\\d{1,18}");
        assertTrue(refused.allowed().contains(range) || !number, refused.getMessage());
        assertTrue(refused.getMessage().contains(key) && refused.getMessage().contains(value), refused.getMessage());
        assertFalse(Files.exists(directory));
    }

    @ParameterizedTest
    @CsvSource({"segment_size, 4096, 4096", "segment_size, 1g, 1073741824", "segment_size, 4097, 4096",
        "segment_size, 10000, 8192", "max_in_mem_segments, 1, 4", "max_in_mem_segments, 3, 4",
        "max_in_mem_segments, 4, 4", "max_in_mem_segments, ' 12 ', 12", "queue_capacity_segments, 2, 2",
        "flush_period, 1, 1", "flush_ceiling_num, 2147483647, 2147483647", "max_event_size, 134217727, 134217727",
        "max_event_size, 20k, 20480", "timestamps, FALSE, false", "format_version, 1, 1",
        "v1_recover, Writing, writing", "read_only, true, true"})
    void goodValuesAreKeptInOneForm(String key, String value, String kept) {
        QueueConfig config = QueueConfig.of(Map.of("queue_dir", "somewhere", key, value));
        assertEquals(Map.of("queue_dir", "somewhere", key, kept), config.asMap());
        assertEquals(config.asMap(), QueueConfig.of(config.asMap()).asMap());
    }

    @Test
    void anUnknownKeyIsRefusedWithTheOnesThereAre() {
        ConfigException refused = refused(() -> QueueConfig.of(Map.of("queue_dir", "x", "segmentsize", "4096")));
        assertEquals("segmentsize", refused.key());
        assertEquals("4096", refused.value());
        for (ConfigKey key : ConfigKey.values()) {
            assertTrue(refused.getMessage().contains(key.keyName()), refused.getMessage());
        }
    }

    @Test
    void aDirectoryIsRequired() {
        assertEquals("queue_dir", refused(() -> QueueConfig.of(Map.of())).key());
        assertEquals("queue_dir", refused(() -> QueueConfig.of(Map.of("queue_dir", ""))).key());
        assertEquals("queue_dir", refused(() -> QueueConfig.of(Map.of("queue_dir", "a\0b"))).key());
        assertThrows(NullPointerException.class, () -> QueueConfig.builder(null));
    }

    @Test
    void aNullIsRefusedByItsKey() {
        Map<String, String> options = new HashMap<>(Map.of("queue_dir", "x"));
        options.put("flush_period", null);
        assertEquals("flush_period", refused(() -> QueueConfig.of(options)).key());
    }

    @Test
    void theBuilderRefusesAtOnce() {
        assertEquals("segment_size", refused(() -> builder().segmentSize(100)).key());
        assertEquals("segment_size", refused(() -> builder().segmentSize("big")).key());
        assertEquals("max_in_mem_segments", refused(() -> builder().maxInMemSegments(0)).key());
        assertEquals("queue_capacity_segments", refused(() -> builder().queueCapacitySegments(1)).key());
        assertEquals("flush_period", refused(() -> builder().flushPeriodMillis(0)).key());
        assertEquals("flush_ceiling_num", refused(() -> builder().flushCeilingNum(0)).key());
        assertEquals("max_event_size", refused(() -> builder().maxEventSize(-1)).key());
        assertEquals("max_event_size", refused(() -> builder().maxEventSize("1x")).key());
        assertEquals("format_version", refused(() -> builder().formatVersion(3)).key());
        assertEquals("v1_recover", refused(() -> builder().v1Recover("all")).key());
    }

    @Test
    void theBuilderAndTheMapSayTheSame() {
        QueueConfig built = QueueConfig.builder(Path.of("dir")).segmentSize("8k").maxInMemSegments(5)
                .queueCapacitySegments(9).flushPeriodMillis(10).flushCeilingNum(11).maxEventSize("1k")
                .timestamps(false).formatVersion(2).v1Recover("writing").readOnly(false).build();
        assertEquals(Map.of("queue_dir", "dir", "segment_size", "8192", "max_in_mem_segments", "5",
                "queue_capacity_segments", "9", "flush_period", "10", "flush_ceiling_num", "11",
                "max_event_size", "1024", "timestamps", "false", "format_version", "2", "v1_recover", "writing")
                .entrySet(), without(built.asMap(), "read_only").entrySet());
        assertEquals(Path.of("dir"), built.queueDir());
        assertEquals(built.asMap().toString(), built.toString());
    }

    private static Map<String, String> without(Map<String, String> map, String key) {
        Map<String, String> rest = new HashMap<>(map);
        assertEquals("false", rest.remove(key));
        return rest;
    }

    @Test
    void theDefaultsAreSatellites() {
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            Map<String, String> effective = queue.config().asMap();
            assertEquals("131072", effective.get("segment_size"));
            assertEquals("10", effective.get("max_in_mem_segments"));
            assertEquals("4000", effective.get("queue_capacity_segments"));
            assertEquals("1000", effective.get("flush_period"));
            assertEquals("10000", effective.get("flush_ceiling_num"));
            assertEquals("20480", effective.get("max_event_size"));
            assertEquals("2", effective.get("format_version"));
            assertEquals("true", effective.get("timestamps"));
            assertEquals("watermark", effective.get("v1_recover"));
            assertEquals("false", effective.get("read_only"));
        }
    }

    /** The ring must take the largest record beside a segment that is not quite acked yet. */
    @ParameterizedTest
    @CsvSource({"4096, 2, 4010", "4096, 2, 134217727", "4096, 3, 8050", "8192, 4, 24400"})
    void aRingTooSmallForItsLargestRecordIsRefused(int segment, int capacity, int maxEvent) {
        ConfigException refused = refused(() -> MmapQueue.open(builder().segmentSize(segment)
                .queueCapacitySegments(capacity).maxEventSize(maxEvent).build()));
        assertEquals("max_event_size", refused.key());
        assertEquals(Integer.toString(maxEvent), refused.value());
        assertFalse(Files.exists(temp.resolve("queue").resolve("meta.dat")));
    }

    @ParameterizedTest
    @CsvSource({"4096, 2, 4009", "4096, 3, 8041", "8192, 4, 24361"})
    void theLargestRecordThatIsAcceptedFitsWhateverTheTailStandsAt(int segment, int capacity, int maxEvent) {
        try (MmapQueue queue = MmapQueue.open(builder().segmentSize(segment).queueCapacitySegments(capacity)
                .maxEventSize(maxEvent).flushPeriodMillis(600_000).build())) {
            for (int i = 0; i < 60; i++) {
                queue.push(Payload.of(i, i * 67 % 700));
                queue.ack(queue.pop().offset());
                byte[] largest = Payload.of(i, maxEvent);
                long offset = queue.push(largest);
                Payload.assertMessages(offset, List.of(largest), Payload.drain(queue));
                queue.ack(offset);
            }
        }
    }

    @Test
    void aLargerMaxEventSizeIsRememberedAndASmallerOneBindsThePusherOnly() {
        try (MmapQueue queue = MmapQueue.open(builder().maxEventSize(1000).build())) {
            queue.push(new byte[1000]);
        }
        try (MmapQueue queue = MmapQueue.open(builder().maxEventSize(5000).build())) {
            queue.push(new byte[5000]);
        }
        try (MmapQueue queue = MmapQueue.open(builder().maxEventSize(10).build())) {
            assertThrows(TooLargeException.class, () -> queue.push(new byte[11]));
            assertEquals(1000, queue.pop().data().length);
            assertEquals(5000, queue.pop().data().length);
        }
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            assertEquals("5000", queue.config().asMap().get("max_event_size"));
        }
    }

    @Test
    void timestampsCanBeTurnedOnAndOff() {
        boolean[] stamps = {true, false, true};
        for (int i = 0; i < stamps.length; i++) {
            try (MmapQueue queue = MmapQueue.open(builder().timestamps(stamps[i]).build())) {
                queue.push(new byte[i]);
            }
        }
        try (MmapQueue queue = MmapQueue.open(builder().build())) {
            for (int i = 0; i < stamps.length; i++) {
                Message message = queue.pop();
                assertEquals(i, message.data().length);
                assertEquals(stamps[i], message.timestampMicros() > 0);
            }
        }
    }
}
