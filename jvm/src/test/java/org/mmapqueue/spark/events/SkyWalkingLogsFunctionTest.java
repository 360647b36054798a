package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.junit.jupiter.api.Test;
import org.mmapqueue.spark.events.wire.WireWriter;

class SkyWalkingLogsFunctionTest {
    @Test
    void dividesAListAndCompletesEachLog() {
        byte[] first = log("shop", "one", "a");
        byte[] other = log("other", "", "c");
        ArrayData logs = SkyWalkingLogsFunction.invoke(list(first, log("", "", "b"), other, log("", "two", "d")));
        assertEquals(4, logs.numElements());
        assertArrayEquals(first, logs.getBinary(0));
        assertArrayEquals(log("shop", "one", "b"), logs.getBinary(1));
        // The instance comes first: what a log inherits stands before its own fields.
        WireWriter third = new WireWriter(50);
        text(third, 3, "one");
        text(third, 2, "other");
        text(third, 5, "c");
        assertArrayEquals(third.toBytes(), logs.getBinary(2));
        assertArrayEquals(log("other", "two", "d"), logs.getBinary(3));
    }

    @Test
    void anEmptyListHasNoLogs() {
        assertEquals(0, SkyWalkingLogsFunction.invoke(new byte[0]).numElements());
    }

    @Test
    void bytesThatAreNoListAreNull() {
        assertNull(SkyWalkingLogsFunction.invoke(null));
        assertNull(SkyWalkingLogsFunction.invoke(new byte[] {10, 5, 1}));
    }

    @Test
    void aLogThatIsNoMessageStaysAsItIs() {
        byte[] garbled = {18, 9, 1};
        ArrayData logs = SkyWalkingLogsFunction.invoke(list(log("shop", "one", "a"), garbled, log("", "", "b")));
        assertEquals(3, logs.numElements());
        assertArrayEquals(garbled, logs.getBinary(1));
        assertArrayEquals(log("shop", "one", "b"), logs.getBinary(2));
    }

    private static byte[] list(byte[]... logs) {
        WireWriter out = new WireWriter(100);
        for (byte[] log : logs) {
            out.bytes(1, log, 0, log.length);
        }
        return out.toBytes();
    }

    private static byte[] log(String service, String instance, String body) {
        WireWriter out = new WireWriter(50);
        text(out, 2, service);
        text(out, 3, instance);
        text(out, 5, body);
        return out.toBytes();
    }

    private static void text(WireWriter out, int field, String text) {
        if (!text.isEmpty()) {
            byte[] bytes = text.getBytes(UTF_8);
            out.bytes(field, bytes, 0, bytes.length);
        }
    }
}
