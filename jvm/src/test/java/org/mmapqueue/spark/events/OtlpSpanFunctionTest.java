package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.rows.SpanRow;
import org.mmapqueue.spark.events.wire.Wire;

class OtlpSpanFunctionTest {
    private static final String OTLP = "application/x-protobuf; proto=otlp.traces";
    private static final String OTLP_JSON = "application/json; proto=otlp.traces";
    private static final String SEGMENT = "application/x-protobuf; proto=skywalking.segment";

    /** The rows of a payload, encoded and decoded again. */
    private static List<Map<String, Object>> again(String contentType, byte[] data) {
        GenericArrayData rows = (GenericArrayData) SpansFunction.invoke(Rows.text(contentType), data, 0, null);
        return Arrays.stream(rows.array())
                .map(row -> ((GenericInternalRow) row).values())
                .flatMap(row -> Rows.spans(OTLP, encoded(row)).stream())
                .toList();
    }

    private static byte[] encoded(Object[] row) {
        return OtlpSpanFunction.invoke(
                whole(row[SpanRow.TIME]),
                whole(row[SpanRow.END]),
                whole(row[SpanRow.DURATION]),
                (UTF8String) row[SpanRow.NAME],
                (UTF8String) row[SpanRow.KIND],
                (UTF8String) row[SpanRow.STATUS],
                (UTF8String) row[SpanRow.STATUS_MESSAGE],
                (UTF8String) row[SpanRow.ATTRIBUTES],
                (UTF8String) row[SpanRow.EVENTS],
                (UTF8String) row[SpanRow.LINKS],
                (UTF8String) row[SpanRow.RESOURCE],
                (UTF8String) row[SpanRow.SERVICE],
                (UTF8String) row[SpanRow.INSTANCE],
                (UTF8String) row[SpanRow.SCOPE],
                (UTF8String) row[SpanRow.TRACE_ID],
                (UTF8String) row[SpanRow.SPAN_ID],
                (UTF8String) row[SpanRow.PARENT]);
    }

    private static long whole(Object number) {
        return number == null ? 0 : (long) number;
    }

    private static Map<String, Object> only(String kind, String status, String events, String links) {
        Object[] row = new Object[SpanRow.COLUMNS];
        row[SpanRow.KIND] = Rows.text(kind);
        row[SpanRow.STATUS] = Rows.text(status);
        row[SpanRow.EVENTS] = Rows.text(events);
        row[SpanRow.LINKS] = Rows.text(links);
        List<Map<String, Object>> rows = Rows.spans(OTLP, encoded(row));
        assertEquals(1, rows.size());
        return rows.get(0);
    }

    private static Map<String, Object> withoutIndex(Map<String, Object> row) {
        Map<String, Object> kept = new LinkedHashMap<>(row);
        kept.remove("index");
        return kept;
    }

    @Test
    void isTheInverseOfSpans() {
        byte[] data = """
            {"resourceSpans": [
             {"resource": {"attributes": [
               {"key": "service.name", "value": {"stringValue": "shop"}},
               {"key": "service.instance.id", "value": {"stringValue": "i-1"}}]},
              "scopeSpans": [{"scope": {"name": "web"}, "spans": [
               {"traceId": "000102030405060708090a0b0c0d0eff", "spanId": "00010203040506ff",
                "parentSpanId": "ff01020304050600", "name": "GET /\u00e9", "kind": 3,
                "startTimeUnixNano": "1760000000123456000", "endTimeUnixNano": "1760000000123987654",
                "attributes": [{"key": "http.status_code", "value": {"intValue": "500"}}],
                "events": [
                  {"timeUnixNano": "1760000000123456789", "name": "exception", "attributes": [
                    {"key": "exception.type", "value": {"stringValue": "IOException"}},
                    {"key": "deep", "value": {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": 1}}]}}}]},
                  {"timeUnixNano": "18446744073709551615", "name": ""}],
                "links": [
                  {"traceId": "ff0102030405060708090a0b0c0d0e00", "spanId": "0001020304050601", "traceState": "a=b",
                   "attributes": [{"key": "why", "value": {"stringValue": "retry"}}]},
                  {"traceId": "ff0102030405060708090a0b0c0d0e01", "spanId": "0001020304050602"}],
                "status": {"message": "it has failed", "code": 2}},
               {"traceId": "000102030405060708090a0b0c0d0eff", "spanId": "0001020304050607", "name": "",
                "startTimeUnixNano": "5000", "status": {"code": 1}},
               {"traceId": "000102030405060708090a0b0c0d0eff", "spanId": "0001020304050608", "kind": 77,
                "endTimeUnixNano": "5000"},
               {"startTimeUnixNano": "9000", "endTimeUnixNano": "7000"}
              ]}]},
             {"scopeSpans": [{"spans": [{"spanId": "0001020304050609"}]}]}]}
            """.getBytes(UTF_8);
        List<Map<String, Object>> expected = Rows.spans(OTLP_JSON, data);
        assertEquals(5, expected.size());
        List<Map<String, Object>> found = again(OTLP_JSON, data);
        for (int i = 0; i < expected.size(); i++) {
            // Each span is the first one of a request of its own.
            assertEquals(withoutIndex(expected.get(i)), withoutIndex(found.get(i)));
        }
    }

    @Test
    void identitiesOfSkyWalkingAreHashedAndStayAttributes() {
        byte[] first = Wire.message()
                .varint(1, 0)
                .varint(2, -1)
                .varint(3, 5)
                .varint(4, 9)
                .text(6, "/a")
                .toBytes();
        byte[] second = Wire.message()
                .varint(1, 1)
                .varint(2, 0)
                .varint(3, 6)
                .varint(4, 8)
                .text(6, "/b")
                .toBytes();
        byte[] reference = Wire.message()
                .text(2, "t")
                .text(3, "segment")
                .varint(4, 1)
                .text(5, "shop")
                .toBytes();
        byte[] third =
                Wire.message().varint(1, 0).varint(2, -1).bytes(5, reference).toBytes();
        byte[] segment = Wire.message()
                .text(1, "t")
                .text(2, "segment")
                .bytes(3, first)
                .bytes(3, second)
                .text(4, "shop")
                .text(5, "i")
                .toBytes();
        List<Map<String, Object>> spans = again(SEGMENT, segment);
        List<Map<String, Object>> others = again(
                SEGMENT,
                Wire.message().text(1, "t").text(2, "other").bytes(3, third).toBytes());
        assertEquals(2, spans.size());
        Map<String, Object> root = spans.get(0);
        Map<String, Object> child = spans.get(1);
        Map<String, Object> remote = others.get(0);
        assertTrue(root.get("trace_id").toString().matches("[0-9a-f]{32}"), root.toString());
        assertTrue(root.get("span_id").toString().matches("[0-9a-f]{16}"), root.toString());
        assertEquals(root.get("trace_id"), child.get("trace_id"));
        assertEquals(root.get("trace_id"), remote.get("trace_id"));
        assertEquals(root.get("span_id"), child.get("parent_span_id"));
        assertEquals(child.get("span_id"), remote.get("parent_span_id"));
        assertNotEquals(root.get("span_id"), child.get("span_id"));
        assertEquals(
                "{\"trace_id\":\"t\",\"span_id\":\"segment-1\",\"parent_span_id\":\"segment-0\"}",
                child.get("attributes"));
        assertEquals(
                "[{\"trace_id\":\"" + root.get("trace_id") + "\",\"span_id\":\"" + child.get("span_id")
                        + "\",\"attributes\":{\"ref_type\":\"CrossProcess\",\"parent_service\":\"shop\"}}]",
                remote.get("links"));
        assertEquals("shop", root.get("service"));
        assertEquals(
                List.of(5_000L, 9_000L, 4_000_000L),
                List.of(root.get("start"), root.get("end"), root.get("duration_ns")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "text", "{}", "[1]", "[{\"a\":1}", "[] 1", "[{\"time_unix_nano\":-1}]"})
    void aTextOfAnotherFormIsAnAttribute(String text) {
        String whole = "\"" + text.replace("\"", "\\\"") + "\"}";
        assertEquals("{\"events\":" + whole, only(null, null, text, null).get("attributes"));
    }

    @Test
    void otherMembersOfEventsAndLinksAreAttributes() {
        Map<String, Object> row = only(null, null, "[{\"name\":1,\"seen\":true}]", "[{\"name\":\"n\"},{}]");
        assertEquals("[{\"attributes\":{\"name\":1,\"seen\":true}}]", row.get("events"));
        assertEquals("[{\"attributes\":{\"name\":\"n\"}},{}]", row.get("links"));
    }

    @ParameterizedTest
    @CsvSource({"CLIENT, CLIENT, ERROR, ERROR", "3, CLIENT, 2, ERROR", "99, 99, 98, 98", "odd, UNSPECIFIED, odd, UNSET"
    })
    void kindsAndStatesAreNamesOrNumbers(String kind, String kindAgain, String status, String statusAgain) {
        Map<String, Object> row = only(kind, status, null, null);
        assertEquals(kindAgain, row.get("kind"));
        assertEquals(statusAgain, row.get("status"));
    }
}
