package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.rows.LogRow;

class OtlpLogFunctionTest {
    private static final String OTLP = "application/x-protobuf; proto=otlp.logs";
    private static final String OTLP_JSON = "application/json; proto=otlp.logs";

    /** The rows of a payload, encoded and decoded again. */
    private static List<Map<String, Object>> again(String contentType, String data) {
        GenericArrayData rows =
                (GenericArrayData) LogsFunction.invoke(Rows.text(contentType), data.getBytes(UTF_8), 0, null);
        return Arrays.stream(rows.array())
                .map(row -> ((GenericInternalRow) row).values())
                .flatMap(row -> Rows.logs(OTLP, encoded(row)).stream())
                .toList();
    }

    private static byte[] encoded(Object[] row) {
        return OtlpLogFunction.invoke(
                micros(row[LogRow.TIME]),
                micros(row[LogRow.OBSERVED_TIME]),
                (UTF8String) row[LogRow.SEVERITY],
                row[LogRow.SEVERITY_NUMBER] == null ? 0 : (Integer) row[LogRow.SEVERITY_NUMBER],
                (UTF8String) row[LogRow.BODY],
                (UTF8String) row[LogRow.ATTRIBUTES],
                (UTF8String) row[LogRow.RESOURCE],
                (UTF8String) row[LogRow.SERVICE],
                (UTF8String) row[LogRow.INSTANCE],
                (UTF8String) row[LogRow.SCOPE],
                (UTF8String) row[LogRow.TRACE_ID],
                (UTF8String) row[LogRow.SPAN_ID],
                null);
    }

    private static long micros(Object time) {
        return time == null ? 0 : (long) time;
    }

    private static Map<String, Object> only(String attributes, String resource, String traceId, MapData more) {
        byte[] request = OtlpLogFunction.invoke(
                1,
                0,
                null,
                0,
                null,
                Rows.text(attributes),
                Rows.text(resource),
                null,
                null,
                null,
                Rows.text(traceId),
                Rows.text(traceId),
                more);
        List<Map<String, Object>> rows = Rows.logs(OTLP, request);
        assertEquals(1, rows.size());
        return rows.get(0);
    }

    private static MapData map(Map<String, String> entries) {
        UTF8String[] keys = entries.keySet().stream().map(Rows::text).toArray(UTF8String[]::new);
        UTF8String[] values = entries.values().stream().map(Rows::text).toArray(UTF8String[]::new);
        return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
    }

    private static Map<String, Object> without(Map<String, Object> row, String... names) {
        Map<String, Object> kept = new LinkedHashMap<>(row);
        Arrays.asList(names).forEach(kept::remove);
        return kept;
    }

    @Test
    void isTheInverseOfLogs() {
        String data = """
            {"resourceLogs": [
             {"resource": {"attributes": [
               {"key": "service.name", "value": {"stringValue": "shop"}},
               {"key": "service.instance.id", "value": {"stringValue": "i-1"}},
               {"key": "cores", "value": {"intValue": "4"}}]},
              "scopeLogs": [{"scope": {"name": "web"}, "logRecords": [
               {"timeUnixNano": "1760000000123456000", "observedTimeUnixNano": "1760000000999000000",
                "severityNumber": 17, "severityText": "Error", "body": {"stringValue": "line \\"1\\"\\n\\u00e9"},
                "traceId": "000102030405060708090a0b0c0d0eff", "spanId": "00010203040506ff",
                "attributes": [
                  {"key": "text", "value": {"stringValue": ""}},
                  {"key": "yes", "value": {"boolValue": true}},
                  {"key": "no", "value": {"boolValue": false}},
                  {"key": "least", "value": {"intValue": "-9223372036854775808"}},
                  {"key": "whole", "value": {"doubleValue": 3.0}},
                  {"key": "big", "value": {"doubleValue": 1.5e300}},
                  {"key": "nan", "value": {"doubleValue": "NaN"}},
                  {"key": "raw", "value": {"bytesValue": "AQID"}},
                  {"key": "none", "value": {}},
                  {"key": "twice", "value": {"stringValue": "a"}}, {"key": "twice", "value": {"intValue": 2}},
                  {"key": "list", "value": {"arrayValue": {"values": [
                    {"intValue": 1}, {}, {"arrayValue": {}}, {"kvlistValue": {}}]}}},
                  {"key": "deep", "value": {"kvlistValue": {"values": [
                    {"key": "a", "value": {"kvlistValue": {"values": [{"key": "b", "value": {"stringValue": "c"}}]}}}
                  ]}}}]},
               {"observedTimeUnixNano": "5000", "severityNumber": 9, "body": {"stringValue": ""}},
               {"timeUnixNano": "5000", "body": {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": 1}}]}}}
              ]}]},
             {"scopeLogs": [{"logRecords": [{"timeUnixNano": "7000"}]}]}]}
            """;
        List<Map<String, Object>> expected = Rows.logs(OTLP_JSON, data);
        assertEquals(4, expected.size());
        List<Map<String, Object>> found = again(OTLP_JSON, data);
        for (int i = 0; i < expected.size(); i++) {
            // Each record is the first one of a request of its own.
            assertEquals(without(expected.get(i), "index"), without(found.get(i), "index"));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "<34>1 2003-10-11T22:14:15.003Z host su 99 ID47 [a@1 b=\"c\"] message",
                "<13>Oct 11 22:14:15 host cron[7]: message",
                "no syslog"
            })
    void keepsTheColumnsOfSyslog(String message) {
        Map<String, Object> expected =
                without(Rows.logs("text/x-syslog", message).get(0), "resource");
        Map<String, Object> found = without(again("text/x-syslog", message).get(0), "resource");
        assertEquals(expected, found);
    }

    @ParameterizedTest
    @CsvSource({"abc.1.2", "0001", "zz0102030405060708090a0b0c0d0eff"})
    void otherIdentitiesAreHashedAndAttributes(String identity) {
        Map<String, Object> row = only(null, null, identity, null);
        assertEquals("{\"trace_id\":\"" + identity + "\",\"span_id\":\"" + identity + "\"}", row.get("attributes"));
        String hash = row.get("trace_id").toString();
        assertTrue(hash.matches("[0-9a-f]{32}"), hash);
        assertEquals(hash.substring(0, 16), row.get("span_id"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "text", "[1]", "{\"a\": 1", "{\"a\": 1} 2", "{\"a\": 1, \"b\": tru}"})
    void aTextThatIsNoObjectIsOneAttribute(String text) {
        String whole = "\"" + text.replace("\"", "\\\"") + "\"}";
        Map<String, Object> row = only(text, text, null, null);
        assertEquals("{\"attributes\":" + whole, row.get("attributes"));
        assertEquals("{\"resource\":" + whole, row.get("resource"));
    }

    @Test
    void whatIsNestedDeeperThanReceiversAllowIsOneAttribute() {
        String allowed = "[".repeat(48) + "]".repeat(48);
        assertEquals(
                "{\"a\":" + allowed + "}",
                only("{\"a\":" + allowed + "}", null, null, null).get("attributes"));
        String deep = "[".repeat(49) + "]".repeat(49);
        assertEquals(
                "{\"attributes\":\"{\\\"a\\\":" + deep + "}\"}",
                only("{\"a\":" + deep + "}", null, null, null).get("attributes"));
    }

    @Test
    void addsAttributesThatARecordDoesNotHave() {
        Map<String, String> more = new LinkedHashMap<>();
        more.put("endpoint", "/new");
        more.put("none", null);
        more.put("log.file.path", "/a");
        Map<String, Object> row = only("{\"endpoint\":\"/old\"}", null, null, map(more));
        assertEquals("{\"endpoint\":\"/old\",\"log.file.path\":\"/a\"}", row.get("attributes"));
        assertEquals(Instant.EPOCH.plusNanos(1000).toEpochMilli() * 1000 + 1, row.get("time"));
    }

    @Test
    void changesAttributes() {
        Map<String, String> names = new LinkedHashMap<>();
        names.put("a", "b");
        names.put("missing", "z");
        names.put("gone", null);
        String json =
                "{ \"a\" : 1.50 , \"b\":\"x\",\"gone\":[1,{\"a\":2}], \"é\\n\": {\"k\": [ \"\\u00e9\" ]},\"t\":true}";
        UTF8String more = Rows.text("{\"t\":null,\"new\":\"é\"}");
        assertEquals(
                "{\"b\":1.50,\"é\\n\":{\"k\": [ \"\\u00e9\" ]},\"t\":null,\"new\":\"é\"}",
                AttributesFunction.invoke(Rows.text(json), map(names), more).toString());
        assertEquals("{}", AttributesFunction.invoke(null, map(names), null).toString());
        assertEquals(
                "text",
                AttributesFunction.invoke(Rows.text("text"), map(names), more).toString());
    }
}
