package org.mmapqueue.spark.events.payload;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.LogsFunction;
import org.mmapqueue.spark.events.Rows;
import org.mmapqueue.spark.events.Samples;
import org.mmapqueue.spark.events.rows.LogRow;
import org.mmapqueue.spark.events.wire.Wire;

/** Rows of the payloads of {@link Samples}. */
class PayloadTest {
    private static final String PROTOBUF = "application/x-protobuf; proto=";
    private static final String JSON = "application/json; proto=";
    private static final String ATTRIBUTES =
            "{\"text\":\"a\",\"int\":-5,\"double\":0.5,\"bool\":true,\"bytes\":\"AQI=\","
                    + "\"list\":[1,null],\"map\":{\"k\":\"v\"}}";

    @Test
    void otlpLogs() {
        List<Map<String, Object>> rows =
                Rows.logs(PROTOBUF + "otlp.logs", Samples.otlpLogs().toBytes());
        assertEquals(
                Map.ofEntries(
                        Map.entry("time", Samples.MICROS),
                        Map.entry("observed_time", Samples.MICROS),
                        Map.entry("severity", "ERROR"),
                        Map.entry("severity_number", 17),
                        Map.entry("body", "no \"stock\""),
                        Map.entry("attributes", ATTRIBUTES),
                        Map.entry("resource", Samples.RESOURCE),
                        Map.entry("scope", "Orders"),
                        Map.entry("service", "shop"),
                        Map.entry("instance", "shop-1"),
                        Map.entry("trace_id", Samples.TRACE_HEX),
                        Map.entry("span_id", Samples.SPAN_HEX),
                        Map.entry("index", 0)),
                rows.get(0));
        assertEquals(
                Map.of(
                        "severity",
                        "INFO2",
                        "severity_number",
                        10,
                        "body",
                        "{\"k\":7}",
                        "resource",
                        Samples.RESOURCE,
                        "scope",
                        "Orders",
                        "service",
                        "shop",
                        "instance",
                        "shop-1",
                        "index",
                        1),
                rows.get(1));
        assertEquals(2, rows.size());
    }

    @Test
    void jsonIsDecodedAsProtobufIs() {
        assertEquals(
                Rows.logs(PROTOBUF + "otlp.logs", Samples.otlpLogs().toBytes()),
                Rows.logs(JSON + "otlp.logs", Samples.JSON_LOGS));
    }

    @Test
    void jsonOfSpansAndPoints() {
        String spans = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"x\",\"kind\":3,\"spanId\":\"0A\","
                + "\"startTimeUnixNano\":\"2000\",\"endTimeUnixNano\":\"5000\",\"status\":{\"code\":1},"
                + "\"events\":[{\"name\":\"e\",\"timeUnixNano\":\"18446744073709551615\"}]}]}]}]}";
        assertEquals(
                List.of(Map.of(
                        "span_id",
                        "0a",
                        "name",
                        "x",
                        "kind",
                        "CLIENT",
                        "start",
                        2L,
                        "end",
                        5L,
                        "duration_ns",
                        3000L,
                        "status",
                        "OK",
                        "events",
                        "[{\"name\":\"e\",\"time_unix_nano\":18446744073709551615}]",
                        "index",
                        0)),
                Rows.spans(JSON + "otlp.traces", spans.getBytes(UTF_8)));
        String points =
                "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"m\",\"exponentialHistogram\":"
                    + "{\"dataPoints\":[{\"count\":\"3\",\"scale\":-2,\"positive\":{\"offset\":-1,\"bucketCounts\":[\"1\",2]},"
                    + "\"max\":\"Infinity\"}]}}]}]}]}";
        assertEquals(
                List.of(Map.of(
                        "name",
                        "m",
                        "kind",
                        "exponential_histogram",
                        "count",
                        3L,
                        "buckets",
                        "{\"scale\":-2,\"positive\":{\"offset\":-1,\"counts\":[1,2]},\"max\":\"Infinity\"}",
                        "index",
                        0)),
                Rows.points(JSON + "otlp.metrics", points.getBytes(UTF_8)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "{",
                "{} {}",
                "{\"resourceLogs\": 1}",
                "{\"resourceLogs\": [[]]}",
                "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"traceId\":\"xy\"}]}]}]}",
                "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"timeUnixNano\":\"soon\"}]}]}]}",
                "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"severityText\":{}}]}]}]}"
            })
    void jsonOfAnotherShapeIsAnError(String json) {
        List<Map<String, Object>> rows = Rows.logs(JSON + "otlp.logs", json);
        assertEquals(1, rows.size());
        assertTrue(rows.get(0).get("error").toString().startsWith("log records of application/json"), rows.toString());
    }

    /** The forms of integers that protobuf's JSON allows, numbers and texts. */
    @ParameterizedTest
    @CsvSource({
        "intValue, 1.5e18, 1500000000000000000",
        "intValue, 25.0, 25",
        "intValue, \"25.0\", 25",
        "intValue, \"-2.5E+1\", -25",
        "intValue, 0e999999999, 0",
        "intValue, 9223372036854775807.000, 9223372036854775807",
        "intValue, \"-9223372036854775808\", -9223372036854775808",
        "intValue, 92233720368547758.07e2, 9223372036854775807",
        "doubleValue, \"-Infinity\", \"-Infinity\"",
        "doubleValue, \"1e3\", 1000.0"
    })
    void jsonNumbers(String kind, String number, String written) {
        String json = "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"severityNumber\":9.0,"
                + "\"timeUnixNano\":1.844674407370955e19,\"attributes\":[{\"key\":\"k\",\"value\":{\""
                + kind + "\":" + number + "}}]}]}]}]}";
        Map<String, Object> row = Rows.logs(JSON + "otlp.logs", json).get(0);
        assertEquals("{\"k\":" + written + "}", row.get("attributes"), row.toString());
        assertEquals(9, row.get("severity_number"));
        assertEquals(18446744073709550L, row.get("time"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"severityNumber\": 9.5",
                "\"severityNumber\": 2147483648",
                "\"severityNumber\": true",
                "\"severityNumber\": \"\"",
                "\"severityNumber\": \" 9\"",
                "\"severityNumber\": \"+9\"",
                "\"severityNumber\": \"SEVERITY_NUMBER_INFO\"",
                "\"timeUnixNano\": -1",
                "\"timeUnixNano\": 18446744073709551616",
                "\"timeUnixNano\": 1e-999999999",
                "\"timeUnixNano\": 1e999999999",
                "\"body\": {\"intValue\": 9223372036854775808}",
                "\"body\": {\"intValue\": 18446744073709551615}",
                "\"body\": {\"intValue\": 0.5}",
                "\"body\": {\"doubleValue\": 1e400}",
                "\"body\": {\"doubleValue\": \"0x1p3\"}",
                "\"body\": {\"doubleValue\": \"1d\"}",
                "\"body\": {\"stringValue\": 1}",
                "\"body\": {\"boolValue\": \"true\"}",
                "\"body\": [{\"stringValue\": \"a\"}]",
                "\"body\": {\"arrayValue\": {\"values\": [null]}}",
                "\"body\": {\"arrayValue\": {\"values\": {\"stringValue\": \"a\"}}}",
                "\"attributes\": {\"key\": \"a\"}",
                "\"traceId\": 12"
            })
    void jsonThatProtobufRefuses(String member) {
        String json = "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{" + member + "}]}]}]}";
        List<Map<String, Object>> rows = Rows.logs(JSON + "otlp.logs", json);
        assertEquals(1, rows.size());
        assertTrue(rows.get(0).containsKey("error"), rows.toString());
    }

    @Test
    void anObjectForAListIsAnError() {
        List<Map<String, Object>> rows =
                Rows.logs(JSON + "otlp.logs", "{\"resourceLogs\":{\"scopeLogs\":[{\"logRecords\":[{}]}]}}");
        assertTrue(
                rows.get(0).get("error").toString().contains("START_OBJECT in place of an array for resourceLogs"),
                rows.toString());
    }

    @Test
    void nullIsAsIfAbsent() {
        assertEquals(
                List.of(Map.of("body", "b", "index", 0)),
                Rows.logs(
                        JSON + "otlp.logs",
                        "{\"resourceLogs\":[{\"resource\":null,\"scopeLogs\":[{\"logRecords\":[{\"attributes\":null,"
                                + "\"body\":{\"stringValue\":\"b\"}}]}]}]}"));
    }

    /** A negative number of a metric keeps its sign. */
    @Test
    void integersOfPointsAreSigned() {
        String json = "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"gauge\":{\"dataPoints\":["
                + "{\"asInt\":\"%s\"}]}}]}]}]}";
        assertEquals(
                -5.0,
                Rows.points(JSON + "otlp.metrics", json.formatted("-5").getBytes(UTF_8))
                        .get(0)
                        .get("value"));
        assertTrue(Rows.points(
                        JSON + "otlp.metrics",
                        json.formatted("18446744073709551615").getBytes(UTF_8))
                .get(0)
                .containsKey("error"));
    }

    /** Clients may send a key twice. JSON with a name twice ends queries that parse it. */
    @Test
    void repeatedKeysAreArrays() {
        Wire twice = Wire.message()
                .attribute(6, "k", "1")
                .attribute(6, "other", "x")
                .attribute(6, "k", "2")
                .nested(
                        5,
                        Wire.message()
                                .nested(6, Wire.message().attribute(1, "m", "3").attribute(1, "m", "4")));
        Wire resource = Wire.message().attribute(1, "service.name", "a").attribute(1, "service.name", "b");
        Wire request = Wire.message()
                .nested(
                        1,
                        Wire.message()
                                .nested(1, resource)
                                .nested(2, Wire.message().nested(2, twice)));
        Map<String, Object> row =
                Rows.logs(PROTOBUF + "otlp.logs", request.toBytes()).get(0);
        assertEquals("{\"k\":[\"1\",\"2\"],\"other\":\"x\"}", row.get("attributes"));
        assertEquals("{\"m\":[\"3\",\"4\"]}", row.get("body"));
        assertEquals("{\"service.name\":[\"a\",\"b\"]}", row.get("resource"));
        assertEquals("b", row.get("service"));
    }

    @Test
    void repeatedTagsOfSkyWalkingAreArrays() {
        Wire log = Wire.message()
                .nested(7, Wire.message().pair(1, "k", "1").pair(1, "k", "2").pair(1, "level", "INFO"));
        assertEquals(
                "{\"k\":[\"1\",\"2\"],\"level\":\"INFO\"}",
                Rows.logs(
                                PROTOBUF + "skywalking.logs",
                                Wire.message().nested(1, log).toBytes())
                        .get(0)
                        .get("attributes"));
        // Tags with the names of the span's own attributes.
        Wire span = Wire.message()
                .text(7, "host:80")
                .varint(9, 3)
                .varint(10, 5)
                .pair(12, "peer", "p")
                .pair(12, "component.id", "c")
                .pair(12, "span.layer", "l")
                .nested(13, Wire.message().pair(2, "e", "1").pair(2, "e", "2"));
        Map<String, Object> row = Rows.spans(
                        PROTOBUF + "skywalking.segment",
                        Wire.message().nested(3, span).toBytes())
                .get(0);
        assertEquals(
                "{\"peer\":[\"host:80\",\"p\"],\"component.id\":[5,\"c\"],\"span.layer\":[\"l\",\"Http\"]}",
                row.get("attributes"));
        assertEquals("[{\"attributes\":{\"e\":[\"1\",\"2\"]}}]", row.get("events"));
        Wire meter = Wire.message()
                .nested(1, Wire.message().text(1, "m").pair(2, "k", "1").pair(2, "k", "2"));
        assertEquals(
                "{\"k\":[\"1\",\"2\"]}",
                Rows.points(
                                PROTOBUF + "skywalking.meters",
                                Wire.message().nested(1, meter).toBytes())
                        .get(0)
                        .get("attributes"));
    }

    @Test
    void otlpSpans() {
        assertEquals(
                List.of(Map.ofEntries(
                        Map.entry("trace_id", Samples.TRACE_HEX),
                        Map.entry("span_id", Samples.SPAN_HEX),
                        Map.entry("parent_span_id", "09"),
                        Map.entry("name", "GET /"),
                        Map.entry("kind", "SERVER"),
                        Map.entry("start", Samples.MICROS),
                        Map.entry("end", Samples.MICROS + 2),
                        Map.entry("duration_ns", 1500L),
                        Map.entry("status", "ERROR"),
                        Map.entry("status_message", "boom"),
                        Map.entry("attributes", "{\"a\":\"b\"}"),
                        Map.entry(
                                "events",
                                "[{\"time_unix_nano\":" + Samples.NANOS
                                        + ",\"name\":\"retry\",\"attributes\":{\"n\":\"1\"}}]"),
                        Map.entry(
                                "links",
                                "[{\"trace_id\":\"" + Samples.TRACE_HEX + "\",\"span_id\":\"" + Samples.SPAN_HEX
                                        + "\",\"attributes\":{\"why\":\"batch\"}}]"),
                        Map.entry("resource", Samples.RESOURCE),
                        Map.entry("scope", "web"),
                        Map.entry("service", "shop"),
                        Map.entry("instance", "shop-1"),
                        Map.entry("index", 0))),
                Rows.spans(PROTOBUF + "otlp.traces", Samples.otlpSpans().toBytes()));
    }

    @Test
    void otlpPoints() {
        List<Map<String, Object>> rows =
                Rows.points(PROTOBUF + "otlp.metrics", Samples.otlpPoints().toBytes());
        assertEquals(
                List.of("gauge", "sum", "histogram", "exponential_histogram", "summary"),
                rows.stream().map(each -> each.get("kind")).toList());
        for (Map<String, Object> row : rows) {
            assertEquals("about " + row.get("name"), row.get("description"));
            assertEquals(Samples.MICROS, row.get("time"));
            assertEquals("shop", row.get("service"));
        }
        assertEquals(1.5, rows.get(0).get("value"));
        assertEquals("{\"a\":\"b\"}", rows.get(0).get("attributes"));
        assertEquals(
                List.of(-7.0, "cumulative", true, Samples.MICROS - 1000),
                List.of(
                        rows.get(1).get("value"),
                        rows.get(1).get("temporality"),
                        rows.get(1).get("monotonic"),
                        rows.get(1).get("start")));
        assertEquals(
                List.of(
                        "delta",
                        6L,
                        12.5,
                        "{\"bounds\":[10.0,20.0],\"counts\":[1,2,3],\"min\":1.0,\"max\":30.0}",
                        "{\"h\":\"i\"}"),
                List.of(
                        rows.get(2).get("temporality"),
                        rows.get(2).get("count"),
                        rows.get(2).get("sum"),
                        rows.get(2).get("buckets"),
                        rows.get(2).get("attributes")));
        assertEquals(
                "{\"scale\":-2,\"zero_count\":1,\"positive\":{\"offset\":2,\"counts\":[1,128]}}",
                rows.get(3).get("buckets"));
        assertEquals(
                "{\"quantiles\":[{\"quantile\":0.5,\"value\":9.0}]}",
                rows.get(4).get("buckets"));
    }

    @Test
    void skyWalkingLogs() {
        String resource = "{\"service.name\":\"shop\",\"service.instance.id\":\"shop-1\"";
        assertEquals(
                List.of(
                        Map.ofEntries(
                                Map.entry("time", Samples.MILLIS * 1000),
                                Map.entry("severity", "WARN"),
                                Map.entry("severity_number", 13),
                                Map.entry("body", "out of stock"),
                                Map.entry("attributes", "{\"level\":\"WARN\",\"thread\":\"main\"}"),
                                Map.entry("resource", resource + ",\"service.layer\":\"GENERAL\"}"),
                                Map.entry("service", "shop"),
                                Map.entry("instance", "shop-1"),
                                Map.entry("endpoint", "/orders"),
                                Map.entry("trace_id", "t1"),
                                Map.entry("span_id", "s1-4"),
                                Map.entry("index", 0)),
                        Map.of(
                                "body",
                                "{}",
                                "resource",
                                resource + "}",
                                "service",
                                "shop",
                                "instance",
                                "shop-1",
                                "index",
                                1)),
                Rows.logs(PROTOBUF + "skywalking.logs", Samples.skyWalkingLogs().toBytes()));
    }

    @Test
    void skyWalkingSpans() {
        List<Map<String, Object>> rows = Rows.spans(
                PROTOBUF + "skywalking.segment", Samples.skyWalkingSegment().toBytes());
        long start = Samples.MILLIS * 1000;
        assertEquals(
                Map.ofEntries(
                        Map.entry("trace_id", "t1"),
                        Map.entry("span_id", "s1-0"),
                        Map.entry("parent_span_id", "s0-2"),
                        Map.entry("name", "/orders"),
                        Map.entry("kind", "SERVER"),
                        Map.entry("start", start),
                        Map.entry("end", start + 5000),
                        Map.entry("duration_ns", 5_000_000L),
                        Map.entry("status", "ERROR"),
                        Map.entry(
                                "attributes",
                                "{\"component.id\":7001,\"http.method\":\"GET\",\"span.layer\":\"Http\"}"),
                        Map.entry(
                                "events",
                                "[{\"time_unix_nano\":" + Samples.MILLIS
                                        + "000000,\"attributes\":{\"event\":\"error\"}}]"),
                        Map.entry(
                                "links",
                                "[{\"trace_id\":\"t1\",\"span_id\":\"s0-2\",\"attributes\":"
                                        + "{\"ref_type\":\"CrossProcess\",\"parent_service\":\"front\","
                                        + "\"parent_service_instance\":\"front-1\",\"parent_endpoint\":\"/buy\","
                                        + "\"network_address\":\"shop:80\"}}]"),
                        Map.entry("resource", Samples.RESOURCE),
                        Map.entry("service", "shop"),
                        Map.entry("instance", "shop-1"),
                        Map.entry("index", 0)),
                rows.get(0));
        assertEquals(
                List.of("s1-0", "PRODUCER", "{\"peer\":\"kafka:9092\",\"span.layer\":\"MQ\"}", 0L, "UNSET", 1),
                List.of(
                        rows.get(1).get("parent_span_id"),
                        rows.get(1).get("kind"),
                        rows.get(1).get("attributes"),
                        rows.get(1).get("duration_ns"),
                        rows.get(1).get("status"),
                        rows.get(1).get("index")));
    }

    @Test
    void skyWalkingMeters() {
        assertEquals(
                List.of(
                        Map.of(
                                "name",
                                "load",
                                "kind",
                                "gauge",
                                "time",
                                Samples.MILLIS * 1000,
                                "value",
                                0.75,
                                "attributes",
                                "{\"cpu\":\"0\"}",
                                "resource",
                                Samples.RESOURCE,
                                "service",
                                "shop",
                                "instance",
                                "shop-1",
                                "index",
                                0),
                        Map.ofEntries(
                                Map.entry("name", "latency"),
                                Map.entry("kind", "histogram"),
                                Map.entry("time", Samples.MILLIS * 1000),
                                Map.entry("count", 5L),
                                Map.entry("buckets", "{\"bounds\":[10.0],\"counts\":[2,3]}"),
                                Map.entry("attributes", "{\"route\":\"/\"}"),
                                Map.entry("resource", Samples.RESOURCE),
                                Map.entry("service", "shop"),
                                Map.entry("instance", "shop-1"),
                                Map.entry("index", 1))),
                Rows.points(
                        PROTOBUF + "skywalking.meters",
                        Samples.skyWalkingMeters().toBytes()));
    }

    @Test
    void lines() {
        assertEquals(List.of("a", "", "b"), bodies("text/plain", "a\r\n\nb\n"));
        assertEquals(List.of("a"), bodies("text/plain; charset=utf-8", "a"));
        assertEquals(List.of(""), bodies("text/plain", ""));
        assertEquals(List.of("{}", "[1]"), bodies("Application/X-NDJSON", "{}\n \r\n[1]"));
        assertEquals(List.of("{\n}"), bodies("application/json", "{\n}"));
    }

    @Test
    void eachCloudEventOfABatchIsARow() {
        String batch = "application/cloudevents-batch+json";
        assertEquals(
                List.of("{\"id\":\"1\", \"data\": [{}]}", "{\"id\":\"\u00e9\"}"),
                bodies(batch + "; charset=utf-8", " [ {\"id\":\"1\", \"data\": [{}]} ,\n{\"id\":\"\u00e9\"}]\n"));
        assertEquals(bodies("application/cloudevents+json", "{\"id\":\"1\"}"), bodies(batch, "[{\"id\":\"1\"}]"));
        assertEquals(List.of(), Rows.logs(batch, "[]"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{}", "[{}", "[{},1]", "[{}] []", "[{},]", "nonsense"})
    void aBatchThatIsNoArrayOfEventsIsAnError(String json) {
        List<Map<String, Object>> rows = Rows.logs("application/cloudevents-batch+json", json);
        assertEquals(1, rows.size());
        assertTrue(
                rows.get(0).get("error").toString().startsWith("log records of application/cloudevents-batch+json: "),
                rows.toString());
    }

    @Test
    void anEmptyRequestHasNoRows() {
        assertEquals(List.of(), Rows.logs(PROTOBUF + "otlp.logs", new byte[0]));
    }

    @Test
    void otherContentTypesAreErrors() {
        assertEquals(
                "content type null has no log records",
                Rows.logs(null, "x").get(0).get("error"));
        assertEquals(
                "content type text/plain; version=0.0.4 has no log records",
                Rows.logs("text/plain; version=0.0.4", "up 1").get(0).get("error"));
        assertEquals(
                "content type text/plain has no spans",
                Rows.spans("text/plain", new byte[1]).get(0).get("error"));
        assertEquals(
                "content type application/x-protobuf; proto=otlp.logs has no data points",
                Rows.points(PROTOBUF + "otlp.logs", new byte[1]).get(0).get("error"));
    }

    @Test
    void rowsInheritErrorAndTimeOfTheEvent() {
        byte[] data = "a\nb".getBytes(UTF_8);
        assertEquals(
                List.of(Map.of("index", 0, "error", "why")),
                Rows.rows(LogsFunction.invoke(Rows.text("text/plain"), data, 5, Rows.text("why")), LogRow.SCHEMA));
        assertEquals(
                List.of(5L, 5L),
                Rows.rows(LogsFunction.invoke(Rows.text("text/plain"), data, 5, null), LogRow.SCHEMA).stream()
                        .map(each -> each.get("time"))
                        .toList());
    }

    private static List<Object> bodies(String contentType, String data) {
        return Rows.logs(contentType, data).stream()
                .map(each -> each.get("body"))
                .toList();
    }
}
