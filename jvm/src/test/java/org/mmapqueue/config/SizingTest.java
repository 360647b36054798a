package org.mmapqueue.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.meta.MetaFields;

class SizingTest {
    private static Settings ofNew(String keys) {
        return Settings.forNew(config(keys));
    }

    private static ConfigValues config(String keys) {
        Map<String, String> options = new LinkedHashMap<>();
        for (String key : keys.isEmpty() ? new String[0] : keys.split(" ")) {
            options.put(key.split("=")[0], key.split("=")[1]);
        }
        return ConfigValues.of(options, "somewhere");
    }

    @ParameterizedTest
    @CsvSource({
        // Segments of 1 to 64 MiB, at most 64 of them while they may grow.
        "'', 8388608, 64, 64, 1048576",
        "capacity=8m, 1048576, 8, 10, 1048576",
        "capacity=64m, 1048576, 64, 64, 1048576",
        "capacity=67108865, 2097152, 33, 33, 1048576",
        "capacity=1g, 16777216, 64, 64, 1048576",
        "capacity=4g, 67108864, 64, 16, 1048576",
        "capacity=1024g, 67108864, 16384, 16, 1048576",
        // Below 8 MiB, eight segments; the largest record fits.
        "capacity=4m, 524288, 8, 10, 1048576",
        "capacity=1m, 131072, 8, 10, 917033",
        "capacity=32k, 4096, 8, 10, 28201",
        "capacity=8k, 4096, 2, 10, 4009",
        "capacity=1000000, 126976, 8, 10, 888361",
        // Keys that are set win.
        "segment_size=128k, 131072, 4096, 1024, 1048576",
        "segment_size=1g, 1073741824, 2, 10, 1048576",
        "capacity=3g segment_size=1g, 1073741824, 3, 10, 1048576",
        "queue_capacity_segments=4000, 131072, 4000, 1024, 1048576",
        "queue_capacity_segments=2, 67108864, 2, 10, 1048576",
        "queue_capacity_segments=1000000, 4096, 1000000, 1024, 1048576",
        "capacity=1g queue_capacity_segments=4, 268435456, 4, 10, 1048576",
        "capacity=1000000 queue_capacity_segments=3, 335872, 3, 10, 671593",
        "capacity=1m queue_capacity_segments=16 segment_size=64k, 65536, 16, 16, 982057",
        "max_in_mem_segments=7 max_event_size=5m, 8388608, 64, 7, 5242880",
        // Version 1 has Satellite's, and the capacity in these segments.
        "format_version=1, 131072, 4000, 10, 20480",
        "format_version=1 capacity=64m, 131072, 512, 10, 20480",
    })
    void theSizesFollowFromTheCapacity(String keys, int segment, int segments, int mapped, int maxEventSize) {
        Settings settings = ofNew(keys);
        assertEquals(segment, settings.geometry().segmentSize());
        assertEquals(segments, settings.geometry().capacity());
        assertEquals(mapped, settings.maxInMemSegments());
        assertEquals(maxEventSize, settings.maxEventSize());
        // All of them set is the same again.
        ConfigValues all = settings.asConfig(Path.of("somewhere"));
        assertEquals(all.asMap(), Settings.forNew(all).asConfig(all.queueDir()).asMap());
    }

    @ParameterizedTest
    @CsvSource({
        "capacity=64k segment_size=64k, '131072..70368744177664 with a segment_size of 65536'",
        "capacity=1073741824g, '134217728..72057594037927936 with a segment_size of 67108864'",
        "capacity=1m queue_capacity_segments=4 segment_size=64k, '262144, as queue_capacity_segments is 4 and"
                + " segment_size 65536; set capacity or queue_capacity_segments, not both'",
    })
    void contradictingSizesThrow(String keys, String allowed) {
        ConfigException thrown = assertThrows(ConfigException.class, () -> ofNew(keys));
        assertEquals("capacity", thrown.key());
        assertEquals(config(keys).text(ConfigKey.CAPACITY), thrown.value());
        assertEquals(allowed, thrown.allowed());
    }

    @Test
    void anExistingRingDecides() {
        MetaFields found = new MetaFields(2, 4000, 131_072, 0, 0, true, 20_480, 0, 0);
        Settings settings = Settings.forExisting(config(""), found);
        assertEquals(131_072, settings.geometry().segmentSize());
        assertEquals(20_480, settings.maxEventSize());
        assertEquals(1024, settings.maxInMemSegments());
        assertEquals(
                settings.geometry(),
                Settings.forExisting(config("capacity=500m"), found).geometry());
        ConfigException thrown =
                assertThrows(ConfigException.class, () -> Settings.forExisting(config("capacity=512m"), found));
        assertEquals("capacity", thrown.key());
        assertTrue(thrown.allowed().endsWith("was made with 524288000 (4000 segments of 131072)"), thrown.allowed());
    }

    @Test
    void theMappedPartOfALargeRingIsBounded() {
        for (long capacity = 1L << 20; capacity <= 1L << 45; capacity += capacity / 3) {
            Settings settings = ofNew("capacity=" + capacity);
            long segment = settings.geometry().segmentSize();
            long ring = segment * settings.geometry().capacity();
            assertTrue(
                    ring >= capacity && ring - capacity < segment,
                    () -> settings.geometry().toString());
            assertEquals(Math.max(10, Math.min(ring, 1L << 30) / segment), settings.maxInMemSegments());
        }
    }
}
