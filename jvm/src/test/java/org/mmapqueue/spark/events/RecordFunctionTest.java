package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.envelope.EventDecoder;
import org.mmapqueue.spark.events.wire.Wire;

class RecordFunctionTest {
    private static final byte[] DATA = {1, 2, (byte) 0xff};

    /** What `event` decodes, encoded and decoded again. */
    private static byte[] encoded(byte[] record) {
        Object[] row = ((GenericInternalRow) EventFunction.invoke(record)).values();
        Long micros = (Long) row[EventDecoder.TIME];
        return RecordFunction.invoke(
                micros == null ? 0 : micros / 1000,
                text(row, EventDecoder.NAME),
                text(row, EventDecoder.TYPE),
                (boolean) row[EventDecoder.REMOTE],
                (MapData) row[EventDecoder.META],
                text(row, EventDecoder.CONTENT_TYPE),
                (byte[]) row[EventDecoder.DATA],
                text(row, EventDecoder.FIELDS),
                text(row, EventDecoder.ID),
                text(row, EventDecoder.SOURCE));
    }

    private static UTF8String text(Object[] row, int column) {
        return (UTF8String) row[column];
    }

    private static void assertSame(byte[] record) {
        Map<String, Object> expected = Rows.event(record);
        Map<String, Object> found = Rows.event(encoded(record));
        byte[] data = (byte[]) expected.remove("data");
        assertArrayEquals(data, (byte[]) found.remove("data"));
        assertEquals(expected, found);
        assertArrayEquals(encoded(record), encoded(encoded(record)));
    }

    @Test
    void isTheInverseOfEvent() {
        assertSame(Wire.message()
                .varint(1, 1_760_000_000_123L)
                .text(2, "orders")
                .varint(3, 4)
                .varint(4, 1)
                .pair(5, "peer", "1.2.3.4")
                .pair(5, "zone", "")
                .text(1000, "text/plain")
                .bytes(1001, DATA)
                .text(1003, "7")
                .text(1004, "http")
                .toBytes());
        assertSame(Wire.message().varint(3, 18).toBytes());
        assertSame(Wire.message().varint(3, -3).varint(4, 1).toBytes());
    }

    @Test
    void segmentsAndLogsUseSatellitesFields() {
        byte[] segment = encoded(Wire.message().varint(3, 3).bytes(9, DATA).toBytes());
        assertArrayEquals(Wire.message().varint(3, 3).bytes(9, DATA).toBytes(), segment);
        byte[] logs = Wire.message()
                .varint(3, 4)
                .nested(10, Wire.message().bytes(1, new byte[] {10, 0}))
                .toBytes();
        assertArrayEquals(logs, encoded(logs));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"n\":3.5,\"l\":[true,null,\"a\\\"b\\n"
                        + "\u00e9\",[],[{}]],\"none\":null,\"o\":{\"deep\":{\"er\":[1,2]}}}",
                "{\"big\":1e300,\"small\":-0.25,\"\":\"\"}",
            })
    void fieldsAreKept(String json) {
        byte[] record = RecordFunction.invoke(
                1, null, Rows.text("Other"), false, null, null, null, Rows.text(json), null, null);
        assertEquals(json.replace("1e300", "1.0E300"), Rows.event(record).get("fields"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "1", "{", "{} {}", "{\"a\":}", "nonsense"})
    void fieldsThatAreNoObject(String json) {
        IllegalArgumentException e = assertThrows(
                IllegalArgumentException.class,
                () -> RecordFunction.invoke(1, null, null, false, null, null, null, Rows.text(json), null, null));
        assertTrue(e.getMessage().startsWith("fields ") && e.getMessage().endsWith(json), e.getMessage());
    }

    @Test
    void otherTextsAreTypeOther() {
        for (String type : new String[] {null, "", "logging", "Type", "Type1x"}) {
            byte[] record = RecordFunction.invoke(
                    0, null, Rows.text(type), false, null, null, "x".getBytes(UTF_8), null, null, null);
            assertEquals("Other", Rows.event(record).get("type"));
        }
    }
}
