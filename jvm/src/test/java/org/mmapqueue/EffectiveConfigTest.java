package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

/** The configuration that an open queue has: defaults, stored values, and what the keys require of each other. */
class EffectiveConfigTest extends ConfigFixture {
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
                queue.consumer().ackUpTo(queue.consumer().pop().offset());
                byte[] largest = Payload.of(i, maxEvent);
                long offset = queue.push(largest);
                Payload.assertMessages(offset, List.of(largest), Payload.drain(queue));
                queue.consumer().ackUpTo(offset);
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
