package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.rows.PointRow;

class OtlpPointFunctionTest {
    private static final String OTLP = "application/x-protobuf; proto=otlp.metrics";
    private static final String OTLP_JSON = "application/json; proto=otlp.metrics";
    private static final String PROMETHEUS = "text/plain; version=0.0.4";

    /** The rows of a payload, encoded and decoded again. */
    private static List<Map<String, Object>> again(String contentType, byte[] data) {
        GenericArrayData rows = (GenericArrayData) PointsFunction.invoke(Rows.text(contentType), data, 0, null);
        return Arrays.stream(rows.array())
                .map(row -> ((GenericInternalRow) row).values())
                .flatMap(row -> Rows.points(OTLP, encoded(row)).stream())
                .toList();
    }

    private static byte[] encoded(Object[] row) {
        Object[] arguments = {
            row[PointRow.TIME] == null ? 0L : row[PointRow.TIME],
            row[PointRow.START] == null ? 0L : row[PointRow.START],
            row[PointRow.VALUE],
            row[PointRow.COUNT],
            row[PointRow.SUM],
            row[PointRow.MONOTONIC],
            row[PointRow.NAME],
            row[PointRow.DESCRIPTION],
            row[PointRow.UNIT],
            row[PointRow.KIND],
            row[PointRow.TEMPORALITY],
            row[PointRow.BUCKETS],
            row[PointRow.ATTRIBUTES],
            row[PointRow.RESOURCE],
            row[PointRow.SERVICE],
            row[PointRow.INSTANCE],
            row[PointRow.SCOPE]
        };
        return new OtlpPointFunction().produceResult(new GenericInternalRow(arguments));
    }

    private static Map<String, Object> only(String kind, String buckets) {
        Object[] row = new Object[PointRow.COLUMNS];
        row[PointRow.NAME] = Rows.text("m");
        row[PointRow.KIND] = Rows.text(kind);
        row[PointRow.BUCKETS] = Rows.text(buckets);
        List<Map<String, Object>> rows = Rows.points(OTLP, encoded(row));
        assertEquals(1, rows.size());
        return rows.get(0);
    }

    private static Map<String, Object> withoutIndex(Map<String, Object> row) {
        Map<String, Object> kept = new LinkedHashMap<>(row);
        kept.remove("index");
        return kept;
    }

    private static void assertInverse(String contentType, String text, int points) {
        byte[] data = text.getBytes(UTF_8);
        List<Map<String, Object>> expected = Rows.points(contentType, data);
        assertEquals(points, expected.size());
        List<Map<String, Object>> found = again(contentType, data);
        for (int i = 0; i < points; i++) {
            Map<String, Object> wanted = withoutIndex(expected.get(i));
            assertFalse(wanted.containsKey("error"), wanted.toString());
            // Each point is the first one of a request of its own.
            assertEquals(wanted, withoutIndex(found.get(i)));
        }
    }

    @Test
    void isTheInverseOfPoints() {
        assertInverse(OTLP_JSON, """
            {"resourceMetrics": [
             {"resource": {"attributes": [
               {"key": "service.name", "value": {"stringValue": "shop"}},
               {"key": "service.instance.id", "value": {"stringValue": "i-1"}}]},
              "scopeMetrics": [{"scope": {"name": "web"}, "metrics": [
               {"name": "load", "description": "of the last minute", "unit": "1", "gauge": {"dataPoints": [
                 {"timeUnixNano": "1760000000123456000", "asDouble": -1.5,
                  "attributes": [{"key": "core", "value": {"intValue": "3"}}]},
                 {"timeUnixNano": "5000", "asInt": "9007199254740992"},
                 {"timeUnixNano": "5000", "asDouble": "NaN"},
                 {"timeUnixNano": "5000", "flags": 1}]}},
               {"name": "requests", "unit": "{request}", "sum": {"aggregationTemporality": 2, "isMonotonic": true,
                 "dataPoints": [{"startTimeUnixNano": "1000", "timeUnixNano": "5000", "asInt": "0"}]}},
               {"name": "delta", "sum": {"aggregationTemporality": 1, "dataPoints": [{"asDouble": 1e300}]}},
               {"name": "times", "unit": "s", "histogram": {"aggregationTemporality": 1, "dataPoints": [
                 {"startTimeUnixNano": "1000", "timeUnixNano": "5000", "count": "18446744073709551615", "sum": 2.5,
                  "bucketCounts": ["1", "0", "18446744073709551614"], "explicitBounds": [0.5, "Infinity"],
                  "min": -1, "max": 2, "attributes": [{"key": "a", "value": {"stringValue": "b"}}]},
                 {"count": "0"}]}},
               {"name": "sizes", "exponentialHistogram": {"aggregationTemporality": 2, "dataPoints": [
                 {"timeUnixNano": "5000", "count": "6", "sum": 0, "scale": -3, "zeroCount": "1",
                  "positive": {"offset": -2, "bucketCounts": ["1", "2"]},
                  "negative": {"offset": 2147483647, "bucketCounts": ["2"]},
                  "min": 0.25, "max": 7, "zeroThreshold": 0.125,
                  "attributes": [{"key": "a", "value": {"boolValue": true}}]}]}},
               {"name": "quantiles", "summary": {"dataPoints": [
                 {"timeUnixNano": "5000", "count": "3", "sum": 6.5,
                  "quantileValues": [{"quantile": 0.5, "value": 2}, {"quantile": 1, "value": "NaN"}],
                  "attributes": [{"key": "a", "value": {}}]}]}}
              ]}]},
             {"scopeMetrics": [{"metrics": [{"name": "bare", "gauge": {"dataPoints": [{}]}}]}]}]}
            """, 11);
    }

    @Test
    void keepsTheColumnsOfPrometheus() {
        assertInverse(PROMETHEUS, """
            # HELP up whether it is up
            # TYPE up gauge
            up{job="a"} 1 1760000000123
            # TYPE http_requests_total counter
            http_requests_total{code="200"} 17 1760000000123
            # TYPE t histogram
            t_bucket{le="0.1"} 2 1760000000123
            t_bucket{le="+Inf"} 5 1760000000123
            t_sum 1.5 1760000000123
            t_count 5 1760000000123
            # TYPE q summary
            q{quantile="0.5"} NaN 1760000000123
            q_sum 1.5 1760000000123
            q_count 5 1760000000123
            """, 4);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "text", "[]", "{}", "{\"bounds\":[1],\"counts\":[\"a\"]}", "{\"bounds\":[1],\"counts\":{}}"})
    void aTextOfAnotherFormIsAnAttribute(String text) {
        String whole = "{\"buckets\":\"" + text.replace("\"", "\\\"") + "\"}";
        assertEquals(whole, only("histogram", text).get("attributes"));
        assertEquals(whole, only("gauge", text).get("attributes"));
        assertEquals(whole, only("summary", text).get("attributes"));
    }

    @ParameterizedTest
    @CsvSource({"gauge, gauge", "sum, sum", "odd, gauge", ", gauge"})
    void anUnknownKindIsAGauge(String kind, String kindAgain) {
        assertEquals(kindAgain, only(kind, null).get("kind"));
    }

    @Test
    void countsThatAreNoWholeNumbersAreRounded() {
        String counts = only("histogram", "{\"bounds\":[1],\"counts\":[1.5,-2]}")
                .get("buckets")
                .toString();
        assertEquals("{\"bounds\":[1.0],\"counts\":[2,0]}", counts);
    }
}
