package org.mmapqueue.spark.events.payload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.Rows;
import org.mmapqueue.spark.events.Samples;
import org.mmapqueue.spark.events.wire.Wire;

/** Requests of Prometheus' remote write as data points. */
class RemoteWriteTest {
    private static final String FIRST = "application/x-protobuf; proto=prometheus.WriteRequest";
    private static final String SECOND = "application/x-protobuf;proto=io.prometheus.write.v2.Request";

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void samplesAndNativeHistograms(boolean second) {
        List<Map<String, Object>> rows =
                Rows.points(second ? SECOND : FIRST, Samples.remoteWrite(second).toBytes());
        Map<String, Object> expected = new TreeMap<>(Map.ofEntries(
                Map.entry("name", "requests_total"),
                Map.entry("description", "All requests."),
                Map.entry("unit", "one"),
                Map.entry("kind", "sum"),
                Map.entry("temporality", "cumulative"),
                Map.entry("monotonic", true),
                Map.entry("time", Samples.MILLIS * 1000),
                Map.entry("value", 1.5),
                Map.entry("attributes", "{\"instance\":\"shop-1\",\"job\":\"shop\",\"path\":\"/a\"}"),
                Map.entry("service", "shop"),
                Map.entry("instance", "shop-1"),
                Map.entry("index", 0)));
        if (second) {
            expected.put("start", (Samples.MILLIS - 1) * 1000);
        }
        assertEquals(expected, new TreeMap<>(rows.get(0)));
        // A series that has ended has no value.
        expected.remove("value");
        expected.put("time", (Samples.MILLIS + 1) * 1000);
        expected.put("index", 1);
        assertEquals(expected, new TreeMap<>(rows.get(1)));
        expected.putAll(Map.of(
                "kind",
                "exponential_histogram",
                "time",
                Samples.MILLIS * 1000,
                "count",
                9L,
                "sum",
                4.5,
                "buckets",
                "{\"scale\":3,\"zero_count\":2,\"positive\":{\"offset\":0,\"counts\":[3,2,0,0,3]},"
                        + "\"negative\":{\"offset\":-2,\"counts\":[2]},\"zero_threshold\":0.001}",
                "index",
                2));
        expected.remove("monotonic");
        assertEquals(expected, new TreeMap<>(rows.get(2)));
        assertEquals(3, rows.size());
    }

    @Test
    void histogramsWithBoundsOfTheirOwnAndFloatingCounts() {
        Wire histogram = Wire.message()
                .float64(2, 3.5)
                .varint(4, 105) // -53
                .nested(11, Wire.message().varint(1, 2).varint(2, 2))
                .float64(13, 0.5)
                .float64(13, 3)
                .float64(16, 1)
                .float64(16, 2.5)
                .varint(14, 3);
        Map<String, Object> row = point(histogram);
        assertEquals("histogram", row.get("kind"));
        assertEquals("{\"bounds\":[1.0,2.5],\"counts\":[0,0.5,3]}", row.get("buckets"));
        // A gauge: counts may fall.
        assertTrue(!row.containsKey("temporality"));
        assertEquals(3L, row.get("count"));
    }

    @Test
    void whatIsNotKnownIsAGauge() {
        Map<String, Object> row = Rows.points(
                        FIRST,
                        Wire.message()
                                .nested(
                                        1,
                                        Wire.message()
                                                .pair(1, "__name__", "up")
                                                .pair(1, "empty", "")
                                                .nested(2, Wire.message().float64(1, 1)))
                                .toBytes())
                .get(0);
        assertEquals(
                Map.of(
                        "name",
                        "up",
                        "kind",
                        "gauge",
                        "time",
                        0L,
                        "value",
                        1.0,
                        "attributes",
                        "{\"empty\":\"\"}",
                        "index",
                        0),
                row);
    }

    @Test
    void aRequestOfMetadataHasNoRows() {
        byte[] metadata = Wire.message()
                .nested(3, Wire.message().varint(1, 1).text(2, "a"))
                .toBytes();
        assertEquals(List.of(), Rows.points(FIRST, metadata));
        assertEquals(List.of(), Rows.points(FIRST, new byte[0]));
    }

    @Test
    void whatCannotBeDecodedIsAnError() {
        Wire spans = Wire.message().nested(11, Wire.message().varint(1, 0).varint(2, 20_000));
        assertError("more than 10000 buckets", spans);
        Wire gap = Wire.message()
                .nested(11, Wire.message().varint(2, 1))
                .nested(11, Wire.message().varint(1, 0xfffffffeL).varint(2, 1))
                .packed(12, 2, 2);
        assertError("more than 10000 buckets", gap);
        Wire backwards = Wire.message()
                .nested(11, Wire.message().varint(2, 1))
                .nested(11, Wire.message().varint(1, 1).varint(2, 1))
                .packed(12, 2, 2);
        assertError("spans that overlap", backwards);
        assertError("1 counts for 0 buckets", Wire.message().packed(12, 2));
        assertError(
                "more buckets than bounds",
                Wire.message()
                        .varint(4, 105)
                        .nested(11, Wire.message().varint(2, 2))
                        .packed(12, 2, 2));
        Wire many = Wire.message();
        for (int i = 0; i < 10_002; i++) {
            many.varint(12, 2);
        }
        assertError("more than 10000 buckets", many);
        byte[] references = Wire.message()
                .text(4, "")
                .nested(5, Wire.message().packed(1, 0, 7))
                .toBytes();
        assertTrue(
                Rows.points(SECOND, references).get(0).get("error").toString().contains("symbol 7 of 1 symbols"));
        byte[] odd = Wire.message()
                .text(4, "")
                .nested(5, Wire.message().packed(1, 0))
                .toBytes();
        assertTrue(Rows.points(SECOND, odd).get(0).get("error").toString().contains("a label without a value"));
    }

    private static void assertError(String expected, Wire histogram) {
        Object error = point(histogram).get("error");
        assertTrue(error != null && error.toString().contains(expected), String.valueOf(error));
    }

    private static Map<String, Object> point(Wire histogram) {
        Wire series = Wire.message().pair(1, "__name__", "h").nested(4, histogram);
        return Rows.points(FIRST, Wire.message().nested(1, series).toBytes()).get(0);
    }
}
