package org.mmapqueue.spark.events.envelope;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.EventFunction;
import org.mmapqueue.spark.events.EventRowsFunction;
import org.mmapqueue.spark.events.Rows;
import org.mmapqueue.spark.events.wire.Wire;

class EventDecoderTest {
    private static final long MILLIS = 1_760_000_000_123L;

    @Test
    void allFields() {
        byte[] data = {1, 2, (byte) 0xff};
        Wire number = Wire.message().float64(2, 3.5);
        Wire list = Wire.message()
                .nested(
                        6,
                        Wire.message()
                                .nested(1, Wire.message().varint(4, 1))
                                .nested(1, Wire.message().varint(1, 0))
                                .nested(1, Wire.message().text(3, "a\"b\n\u00e9")));
        Wire fields = Wire.message()
                .nested(1, Wire.message().text(1, "n").nested(2, number))
                .nested(1, Wire.message().nested(2, list).text(1, "l"))
                .nested(1, Wire.message().text(1, "none"));
        Map<String, Object> event = Rows.event(Wire.message()
                .varint(1, MILLIS)
                .text(2, "orders")
                .varint(3, 4)
                .varint(4, 1)
                .pair(5, "peer", "1.2.3.4")
                .pair(5, "zone", "a")
                .pair(5, "zone", "b")
                .text(1000, "text/plain")
                .bytes(1001, data)
                .nested(1002, fields)
                .text(1003, "7")
                .text(1004, "http")
                .toBytes());
        assertArrayEquals(data, (byte[]) event.remove("data"));
        assertEquals(
                Map.of(
                        "time",
                        MILLIS * 1000,
                        "name",
                        "orders",
                        "type",
                        "Logging",
                        "remote",
                        true,
                        "meta",
                        Map.of("peer", "1.2.3.4", "zone", "b"),
                        "content_type",
                        "text/plain",
                        "fields",
                        "{\"n\":3.5,\"l\":[true,null,\"a\\\"b\\n\u00e9\"],\"none\":null}",
                        "id",
                        "7",
                        "source",
                        "http"),
                event);
    }

    @Test
    void absentFieldsAreNull() {
        assertEquals(
                Map.of("type", "Metrics", "remote", false, "meta", Map.of()),
                Rows.event(Wire.message().varint(3, 2).toBytes()));
    }

    @ParameterizedTest
    @CsvSource({
        "0, CLR",
        "1, JVM",
        "2, Metrics",
        "3, Tracing",
        "4, Logging",
        "5, Management",
        "6, Profile",
        "7, ServiceMesh",
        "8, Event",
        "18, Type18",
        "100, Other",
        "-3, Type-3"
    })
    void types(long number, String name) {
        assertEquals(
                name, Rows.event(Wire.message().varint(3, number).toBytes()).get("type"));
    }

    @Test
    void unknownFieldsAreIgnored() {
        byte[] record = Wire.message()
                .text(2, "x")
                .varint(40, 1)
                .fixed32(41, 1)
                .fixed64(42, 1)
                .text(2000, "y")
                .toBytes();
        assertEquals("x", Rows.event(record).get("name"));
    }

    @Test
    void membersOfSatellitesOneof() {
        Map<String, Object> segment =
                Rows.event(Wire.message().varint(3, 3).text(9, "seg").toBytes());
        assertEquals("application/x-protobuf; proto=skywalking.segment", segment.get("content_type"));
        assertEquals("seg", new String((byte[]) segment.get("data"), UTF_8));
        Map<String, Object> profile =
                Rows.event(Wire.message().varint(3, 6).text(12, "task").toBytes());
        assertEquals("application/x-protobuf; proto=skywalking.sniffdata.12", profile.get("content_type"));
        assertEquals("task", new String((byte[]) profile.get("data"), UTF_8));
    }

    @Test
    void dataTakesPrecedenceOverTheOneof() {
        Map<String, Object> event = Rows.event(
                Wire.message().text(9, "seg").text(1000, "a/b").text(1001, "d").toBytes());
        assertEquals("a/b", event.get("content_type"));
        assertEquals("d", new String((byte[]) event.get("data"), UTF_8));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "ff",
                "0a",
                "0a05",
                "1a03616263",
                "080008",
                "2a02ffff",
                "c23eff",
                "c80102",
                "08ffffffffffffffffffff01",
                "0b08",
                "d23e0308018a",
                "8a7d0212040a"
            })
    void undecodableRecordsAreRowsWithAnError(String hex) {
        byte[] record = HexFormat.of().parseHex(hex);
        Map<String, Object> event = Rows.event(record);
        assertArrayEquals(record, (byte[]) event.get("data"), event.toString());
        assertTrue(event.get("error").toString().matches(".* at byte \\d+"), event.toString());
        assertEquals(2, event.size());
    }

    @Test
    void textsThatAreNotUtf8AreReplaced() {
        byte[] record =
                Wire.message().bytes(2, new byte[] {'a', (byte) 0xc0, 'b'}).toBytes();
        assertEquals("a\uFFFDb", Rows.event(record).get("name"));
    }

    @Test
    void nestingIsLimited() {
        Wire value = Wire.message().varint(4, 1);
        for (int i = 0; i < 60; i++) {
            value = Wire.message().nested(6, Wire.message().nested(1, value));
        }
        Wire fields = Wire.message().nested(1, Wire.message().text(1, "deep").nested(2, value));
        Map<String, Object> event =
                Rows.event(Wire.message().nested(1002, fields).toBytes());
        assertTrue(event.get("error").toString().contains("more than 100 nested messages"), event.toString());
    }

    @Test
    void manyEntriesOfMeta() {
        Wire wire = Wire.message();
        for (int i = 0; i < 200; i++) {
            wire.pair(5, "k" + i % 50, "v" + i);
        }
        Map<?, ?> meta = (Map<?, ?>) Rows.event(wire.toBytes()).get("meta");
        assertEquals(50, meta.size());
        assertEquals("v199", meta.get("k49"));
    }

    @Test
    void nullIsDecodedToNull() {
        assertNull(EventFunction.invoke(null));
        assertNull(EventRowsFunction.invoke(null));
    }
}
