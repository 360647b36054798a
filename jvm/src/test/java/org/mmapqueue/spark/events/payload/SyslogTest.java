package org.mmapqueue.spark.events.payload;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.LogsFunction;
import org.mmapqueue.spark.events.Rows;
import org.mmapqueue.spark.events.rows.LogRow;

class SyslogTest {
    private static final long RECEIVED = micros("2026-01-02T00:00:00Z");

    @Test
    void rfc5424() {
        assertEquals(
                Map.ofEntries(
                        Map.entry("time", micros("2003-10-11T22:14:15.003Z")),
                        Map.entry("severity", "crit"),
                        Map.entry("severity_number", 18),
                        Map.entry("body", "'su root' failed"),
                        Map.entry(
                                "attributes",
                                "{\"facility\":4,\"message.id\":\"ID47\","
                                        + "\"a@1\":{\"k\":\"v\\\"]\",\"l\":\"\"},\"b\":{}}"),
                        Map.entry("resource", "{\"host.name\":\"mymachine\"}"),
                        Map.entry("service", "su"),
                        Map.entry("instance", "mymachine"),
                        Map.entry("index", 0)),
                row("<34>1 2003-10-11T22:14:15.003Z mymachine su - ID47 [a@1 k=\"v\\\"\\]\" l=\"\"][b] "
                        + "\uFEFF'su root' failed\n"));
    }

    @Test
    void nilValues() {
        assertEquals(
                Map.of(
                        "time",
                        RECEIVED,
                        "severity",
                        "debug",
                        "severity_number",
                        5,
                        "attributes",
                        "{\"facility\":23}",
                        "body",
                        "",
                        "index",
                        0),
                row("<191>1 - - - - - -"));
    }

    @Test
    void rfc3164() {
        assertEquals(
                Map.of(
                        "time",
                        micros("2025-12-31T23:59:58Z"),
                        "severity",
                        "err",
                        "severity_number",
                        17,
                        "body",
                        "link: down",
                        "attributes",
                        "{\"facility\":0,\"process.id\":\"77\"}",
                        "resource",
                        "{\"host.name\":\"router\"}",
                        "service",
                        "kernel",
                        "instance",
                        "router",
                        "index",
                        0),
                row("<3>Dec 31 23:59:58 router kernel[77]: link: down"));
    }

    @Test
    void rfc3164WithAModernTime() {
        Map<String, Object> row = row("<14>2026-01-01T10:00:00.5+02:00 host app: hello");
        assertEquals(micros("2026-01-01T08:00:00.5Z"), row.get("time"));
        assertEquals(List.of("app", "hello"), List.of(row.get("service"), row.get("body")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0003-10-11T22:14:15.003Z", "2300-01-01T00:00:00Z"})
    void aTimeOfAnotherCentury(String time) {
        assertEquals(micros(time), row("<34>1 " + time + " h a p m - x").get("time"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"no priority", "<192>1 - - - - - - x", "<>x", "<-1>x", "", "<1234>x"})
    void anythingElseIsTheBody(String message) {
        assertEquals(Map.of("time", RECEIVED, "body", message, "index", 0), row(message));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "<13>1 soon h a p m [x y",
                "<13>1 +999999999-01-01T00:00:00Z h a p m - x",
                "<13>Feb 31 00:00:00 h t: m",
                "<13>Feb 12 30:00:00 h t: m"
            })
    void anInvalidTimeIsReplacedByTheReceptionTime(String message) {
        assertEquals(RECEIVED, row(message).get("time"));
    }

    private static Map<String, Object> row(String message) {
        return Rows.rows(
                        LogsFunction.invoke(Rows.text("text/x-syslog"), message.getBytes(UTF_8), RECEIVED, null),
                        LogRow.SCHEMA)
                .get(0);
    }

    private static long micros(String instant) {
        Instant at = Instant.parse(instant);
        return at.getEpochSecond() * 1_000_000 + at.getNano() / 1000;
    }
}
