package org.mmapqueue.spark.events;

import org.mmapqueue.spark.events.wire.Wire;

/** Payloads for tests: one of each format. */
public final class Samples {
    public static final long NANOS = 1_760_000_000_123_456_789L;
    public static final long MICROS = NANOS / 1000;
    public static final long MILLIS = NANOS / 1_000_000;
    static final byte[] TRACE = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, (byte) 0xff};
    static final byte[] SPAN = {1, 2, 3, 4, 5, 6, 7, 8};
    public static final String TRACE_HEX = "000102030405060708090a0b0c0d0eff";
    public static final String SPAN_HEX = "0102030405060708";
    public static final String RESOURCE = "{\"service.name\":\"shop\",\"service.instance.id\":\"shop-1\"}";

    /** As {@link #otlpLogs}, as a client sends it in JSON. */
    public static final String JSON_LOGS = """
        {"resourceLogs": [{"resource": {"attributes": [
          {"key": "service.name", "value": {"stringValue": "shop"}},
          {"key": "service.instance.id", "value": {"stringValue": "shop-1"}}]},
          "scopeLogs": [{"scope": {"name": "Orders"}, "logRecords": [
            {"timeUnixNano": "1760000000123456789", "observedTimeUnixNano": 1760000000123456789,
             "severityNumber": 17, "severityText": "ERROR", "body": {"stringValue": "no \\"stock\\""},
             "attributes": [
               {"key": "text", "value": {"stringValue": "a"}},
               {"key": "int", "value": {"intValue": "-5"}},
               {"key": "double", "value": {"doubleValue": 0.5}},
               {"key": "bool", "value": {"boolValue": true}},
               {"key": "bytes", "value": {"bytesValue": "AQI="}},
               {"key": "list", "value": {"arrayValue": {"values": [{"intValue": 1}, {}]}}},
               {"key": "map", "value": {"kvlistValue": {"values": [
                 {"key": "k", "value": {"stringValue": "v"}}]}}}],
             "traceId": "000102030405060708090A0B0C0D0EFF", "spanId": "0102030405060708",
             "droppedAttributesCount": 0, "unknown": {"a": [1]}},
            {"severityNumber": 10, "body": {"kvlistValue": {"values": [
              {"key": "k", "value": {"intValue": 7}}]}}}]}]}]}
        """;

    private Samples() {}

    private static Wire resource() {
        return Wire.message().attribute(1, "service.name", "shop").attribute(1, "service.instance.id", "shop-1");
    }

    private static Wire value(String key, Wire value) {
        return Wire.message().text(1, key).nested(2, value);
    }

    public static Wire otlpLogs() {
        Wire map = Wire.message().nested(6, Wire.message().attribute(1, "k", "v"));
        Wire list = Wire.message()
                .nested(5, Wire.message().nested(1, Wire.message().varint(3, 1)).nested(1, Wire.message()));
        Wire log = Wire.message()
                .fixed64(1, NANOS)
                .fixed64(11, NANOS)
                .varint(2, 17)
                .text(3, "ERROR")
                .nested(5, Wire.message().text(1, "no \"stock\""))
                .attribute(6, "text", "a")
                .nested(6, value("int", Wire.message().varint(3, -5)))
                .nested(6, value("double", Wire.message().float64(4, 0.5)))
                .nested(6, value("bool", Wire.message().varint(2, 1)))
                .nested(6, value("bytes", Wire.message().bytes(7, new byte[] {1, 2})))
                .nested(6, value("list", list))
                .nested(6, value("map", map))
                .varint(7, 0)
                .fixed32(8, 1)
                .bytes(9, TRACE)
                .bytes(10, SPAN);
        Wire second = Wire.message()
                .varint(2, 10)
                .nested(
                        5,
                        Wire.message()
                                .nested(
                                        6,
                                        Wire.message()
                                                .nested(
                                                        1,
                                                        value(
                                                                "k",
                                                                Wire.message().varint(3, 7)))));
        return Wire.message()
                .nested(
                        1,
                        Wire.message()
                                .nested(
                                        2,
                                        Wire.message()
                                                .nested(2, log)
                                                .nested(2, second)
                                                .nested(1, Wire.message().text(1, "Orders")))
                                .nested(1, resource()));
    }

    public static Wire otlpSpans() {
        Wire event = Wire.message().fixed64(1, NANOS).text(2, "retry").attribute(3, "n", "1");
        Wire link = Wire.message().bytes(1, TRACE).bytes(2, SPAN).attribute(4, "why", "batch");
        Wire span = Wire.message()
                .bytes(1, TRACE)
                .bytes(2, SPAN)
                .bytes(4, new byte[] {9})
                .text(5, "GET /")
                .varint(6, 2)
                .fixed64(7, NANOS)
                .fixed64(8, NANOS + 1500)
                .attribute(9, "a", "b")
                .nested(11, event)
                .nested(13, link)
                .nested(15, Wire.message().text(2, "boom").varint(3, 2));
        return Wire.message()
                .nested(
                        1,
                        Wire.message()
                                .nested(1, resource())
                                .nested(
                                        2,
                                        Wire.message()
                                                .nested(1, Wire.message().text(1, "web"))
                                                .nested(2, span)));
    }

    public static Wire otlpPoints() {
        Wire gauge = Wire.message()
                .nested(1, Wire.message().fixed64(3, NANOS).float64(4, 1.5).attribute(7, "a", "b"));
        Wire sum = Wire.message()
                .varint(2, 2)
                .varint(3, 1)
                .nested(
                        1,
                        Wire.message()
                                .fixed64(2, NANOS - 1_000_000)
                                .fixed64(3, NANOS)
                                .fixed64(6, -7));
        byte[] packed = Arrays8.of(1, 2, 3);
        Wire histogram = Wire.message()
                .varint(2, 1)
                .nested(
                        1,
                        Wire.message()
                                .fixed64(3, NANOS)
                                .fixed64(4, 6)
                                .float64(5, 12.5)
                                .bytes(6, packed)
                                .float64(7, 10)
                                .float64(7, 20)
                                .float64(11, 1)
                                .float64(12, 30)
                                .attribute(9, "h", "i"));
        Wire exponential = Wire.message()
                .varint(2, 2)
                .nested(
                        1,
                        Wire.message()
                                .attribute(1, "e", "f")
                                .fixed64(3, NANOS)
                                .fixed64(4, 4)
                                .float64(5, 2)
                                .varint(6, 3)
                                .fixed64(7, 1)
                                .nested(8, Wire.message().varint(1, 4).bytes(2, new byte[] {1, (byte) 0x80, 1})));
        Wire summary = Wire.message()
                .nested(
                        1,
                        Wire.message()
                                .fixed64(3, NANOS)
                                .fixed64(4, 2)
                                .float64(5, 3)
                                .nested(6, Wire.message().float64(1, 0.5).float64(2, 9)));
        Wire metrics = Wire.message().nested(1, Wire.message().text(1, "otel"));
        metrics.nested(2, metric("temperature", 5, gauge))
                .nested(2, metric("requests", 7, sum))
                .nested(2, metric("latency", 9, histogram))
                .nested(2, metric("size", 10, exponential))
                .nested(2, metric("old", 11, summary));
        return Wire.message().nested(1, Wire.message().nested(1, resource()).nested(2, metrics));
    }

    private static Wire metric(String name, int kind, Wire points) {
        return Wire.message()
                .nested(kind, points)
                .text(1, name)
                .text(2, "about " + name)
                .text(3, "1");
    }

    public static Wire skyWalkingLogs() {
        Wire first = Wire.message()
                .varint(1, MILLIS)
                .text(2, "shop")
                .text(3, "shop-1")
                .text(4, "/orders")
                .nested(
                        5,
                        Wire.message().text(1, "text").nested(2, Wire.message().text(1, "out of stock")))
                .nested(6, Wire.message().text(1, "t1").text(2, "s1").varint(3, 4))
                .nested(7, Wire.message().pair(1, "level", "WARN").pair(1, "thread", "main"))
                .text(8, "GENERAL");
        Wire second =
                Wire.message().nested(5, Wire.message().nested(3, Wire.message().text(1, "{}")));
        return Wire.message().nested(1, first).nested(1, second);
    }

    public static Wire skyWalkingSegment() {
        Wire reference = Wire.message()
                .varint(1, 0)
                .text(2, "t1")
                .text(3, "s0")
                .varint(4, 2)
                .text(5, "front")
                .text(6, "front-1")
                .text(7, "/buy")
                .text(8, "shop:80");
        Wire entry = Wire.message()
                .varint(1, 0)
                .varint(2, -1)
                .varint(3, MILLIS)
                .varint(4, MILLIS + 5)
                .nested(5, reference)
                .text(6, "/orders")
                .varint(8, 0)
                .varint(9, 3)
                .varint(10, 7001)
                .varint(11, 1)
                .pair(12, "http.method", "GET")
                .nested(13, Wire.message().varint(1, MILLIS).pair(2, "event", "error"));
        Wire exit = Wire.message()
                .varint(1, 1)
                .varint(2, 0)
                .varint(3, MILLIS)
                .varint(4, MILLIS)
                .text(6, "publish")
                .text(7, "kafka:9092")
                .varint(8, 1)
                .varint(9, 4);
        return Wire.message()
                .text(1, "t1")
                .text(2, "s1")
                .nested(3, entry)
                .nested(3, exit)
                .text(4, "shop")
                .text(5, "shop-1");
    }

    public static Wire skyWalkingMeters() {
        Wire single = Wire.message().text(1, "load").pair(2, "cpu", "0").float64(3, 0.75);
        Wire histogram = Wire.message()
                .text(1, "latency")
                .pair(2, "route", "/")
                .nested(3, Wire.message().varint(3, 1).varint(2, 2))
                .nested(3, Wire.message().float64(1, 10).varint(2, 3));
        return Wire.message()
                .nested(
                        1,
                        Wire.message()
                                .nested(1, single)
                                .text(3, "shop")
                                .text(4, "shop-1")
                                .varint(5, MILLIS))
                .nested(1, Wire.message().nested(2, histogram));
    }

    /** 8 bytes for each number, the lowest first. */
    private static final class Arrays8 {
        private static byte[] of(long... values) {
            byte[] packed = new byte[8 * values.length];
            for (int i = 0; i < values.length; i++) {
                packed[8 * i] = (byte) values[i];
            }
            return packed;
        }
    }

    /** A series of remote write with two samples and a native histogram, in version 1 or 2. */
    public static Wire remoteWrite(boolean second) {
        Wire histogram = Wire.message()
                .varint(1, 9)
                .float64(3, 4.5)
                .varint(4, 6)
                .float64(5, 0.001)
                .varint(6, 2)
                .nested(11, Wire.message().varint(1, 2).varint(2, 2))
                .nested(11, Wire.message().varint(1, 4).varint(2, 1))
                .packed(12, 6, 1, 2)
                .nested(8, Wire.message().varint(1, 1).varint(2, 1))
                .packed(9, 4)
                .varint(15, MILLIS);
        Wire samples = Wire.message();
        Wire[] sample = {
            Wire.message().float64(1, 1.5).varint(2, MILLIS),
            Wire.message()
                    .float64(1, Double.longBitsToDouble(0x7ff0000000000002L))
                    .varint(2, MILLIS + 1)
        };
        if (!second) {
            return samples.nested(
                            1,
                            Wire.message()
                                    .pair(1, "__name__", "requests_total")
                                    .pair(1, "instance", "shop-1")
                                    .pair(1, "job", "shop")
                                    .pair(1, "path", "/a")
                                    .nested(2, sample[0])
                                    .nested(2, sample[1])
                                    .nested(4, histogram))
                    .nested(
                            3,
                            Wire.message()
                                    .varint(1, 1)
                                    .text(2, "requests")
                                    .text(4, "All requests.")
                                    .text(5, "one"));
        }
        return samples.nested(
                        5,
                        Wire.message()
                                .packed(1, 1, 2, 3, 4, 5, 6, 7, 8)
                                .nested(2, sample[0])
                                .nested(2, sample[1])
                                .nested(3, histogram)
                                .nested(
                                        5,
                                        Wire.message().varint(1, 1).varint(3, 9).varint(4, 10))
                                .varint(6, MILLIS - 1))
                .text(4, "")
                .text(4, "__name__")
                .text(4, "requests_total")
                .text(4, "instance")
                .text(4, "shop-1")
                .text(4, "job")
                .text(4, "shop")
                .text(4, "path")
                .text(4, "/a")
                .text(4, "All requests.")
                .text(4, "one");
    }
}
