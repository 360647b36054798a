package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.mmapqueue.spark.events.wire.Wire;

/** Whatever bytes come: rows, or one row with an error; never an exception. */
@Tag("long-form")
class GarbledBytesTest {
    private static final List<String> LOGS = List.of(
            "application/x-protobuf; proto=otlp.logs",
            "application/json; proto=otlp.logs",
            "application/x-protobuf; proto=skywalking.logs",
            "text/plain",
            "text/x-syslog",
            "text/x-syslog; zone=Europe/Berlin",
            "application/x-ndjson",
            "application/json",
            "application/cloudevents-batch+json");
    private static final List<String> SPANS = List.of(
            "application/x-protobuf; proto=otlp.traces",
            "application/json; proto=otlp.traces",
            "application/x-protobuf; proto=skywalking.segment");
    private static final List<String> POINTS = List.of(
            "application/x-protobuf; proto=otlp.metrics",
            "application/json; proto=otlp.metrics",
            "application/x-protobuf; proto=skywalking.meters",
            "application/x-protobuf; proto=prometheus.WriteRequest",
            "application/x-protobuf; proto=io.prometheus.write.v2.Request",
            "text/plain; version=0.0.4",
            "application/openmetrics-text; version=1.0.0");

    @Property(tries = 500)
    void anyBytes(@ForAll @Size(max = 80) byte[] bytes) {
        checkAll(bytes);
    }

    @Property(tries = 500)
    void wellFormedPayloadsWithDamage(
            @ForAll("payloads") byte[] payload,
            @ForAll @IntRange(max = 500) int at,
            @ForAll byte value,
            @ForAll boolean cut) {
        byte[] damaged = payload.clone();
        damaged[at % damaged.length] = value;
        checkAll(cut ? Arrays.copyOf(damaged, at % (damaged.length + 1)) : damaged);
    }

    @Property(tries = 200)
    void eventsCutAnywhere(@ForAll @IntRange(max = 400) int length) {
        byte[] event = Wire.message()
                .varint(1, 1)
                .bytes(1001, Samples.otlpLogs().toBytes())
                .text(1003, "i")
                .toBytes();
        Map<String, Object> found = Rows.event(Arrays.copyOf(event, length % event.length));
        assertTrue(found.containsKey("error") || found.containsKey("type"));
    }

    @Provide
    Arbitrary<byte[]> payloads() {
        return Arbitraries.of(List.of(
                Samples.otlpLogs().toBytes(),
                Samples.otlpSpans().toBytes(),
                Samples.otlpPoints().toBytes(),
                Samples.skyWalkingLogs().toBytes(),
                Samples.skyWalkingSegment().toBytes(),
                Samples.skyWalkingMeters().toBytes(),
                Samples.remoteWrite(false).toBytes(),
                Samples.remoteWrite(true).toBytes(),
                Samples.JSON_LOGS.getBytes(UTF_8),
                "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 3 4\n# TYPE c counter\nc_total 1 # {} 1 2\n# EOF"
                        .getBytes(UTF_8),
                "<34>1 2003-10-11T22:14:15.003Z host su - ID47 [a b=\"c\"] x".getBytes(UTF_8),
                "<189>29: r1: *Mar  1 2024 18:46:11.234 CET: %SYS-5-CONFIG_I: x".getBytes(UTF_8)));
    }

    private static void checkAll(byte[] bytes) {
        Map<String, Object> event = Rows.event(bytes);
        assertTrue(event.containsKey("error") != event.containsKey("type"), event.toString());
        LOGS.forEach(each -> check(Rows.logs(each, bytes)));
        SPANS.forEach(each -> check(Rows.spans(each, bytes)));
        POINTS.forEach(each -> check(Rows.points(each, bytes)));
    }

    private static void check(List<Map<String, Object>> rows) {
        for (int i = 0; i < rows.size(); i++) {
            assertEquals(i, rows.get(i).get("index"));
            assertTrue(!rows.get(i).containsKey("error") || rows.size() == 1, rows.toString());
        }
    }
}
