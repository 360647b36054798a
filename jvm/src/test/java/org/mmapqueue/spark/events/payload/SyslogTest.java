package org.mmapqueue.spark.events.payload;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

    /** Docker's default, and other programs that leave out the host. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "<30>Mar 12 12:00:00 docker/abc[123]: hello there | docker/abc | 123 | hello there",
                "<30>Mar 12 12:00:00 cron: hello | cron | | hello",
                "<30>2026-03-12T12:00:00Z docker[7]: hello | docker | 7 | hello",
                "<30>Mar 12 12:00:00 kernel: usb: hello | kernel | | usb: hello"
            })
    void aTagInPlaceOfTheHost(String message, String service, String process, String body) {
        Map<String, Object> row = row(message);
        assertEquals(service, row.get("service"));
        assertEquals(body, row.get("body"));
        assertFalse(row.containsKey("instance"), row.toString());
        assertFalse(row.containsKey("resource"), row.toString());
        assertEquals(
                "{\"facility\":3" + (process == null ? "" : ",\"process.id\":\"" + process + "\"") + "}",
                row.get("attributes"));
        assertEquals(micros("2026-03-12T12:00:00Z"), row.get("time"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"fe80::1", "2001:db8::", "192.0.2.1", "web-1.example.org", "a:b"})
    void aHostMayHaveColons(String host) {
        Map<String, Object> row = row("<30>Mar 12 12:00:00 " + host + " app[1]: hello");
        assertEquals(List.of(host, "app", "hello"), List.of(row.get("instance"), row.get("service"), row.get("body")));
    }

    /** The headers of network devices. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "-",
            value = {
                "<189>29: *Mar  1 18:46:11.234 UTC: %SYS-5-CONFIG_I: x | 2026-03-01T18:46:11.234Z | - |"
                        + " %SYS-5-CONFIG_I",
                "<189>Mar 1 18:46:11 r1 %LINK-3-UPDOWN: x              | 2026-03-01T18:46:11Z     | r1 |"
                        + " %LINK-3-UPDOWN",
                "<189>29: r1: .Mar  1 18:46:11.2 CET: %A-1-B: x        | 2026-03-01T17:46:11.2Z   | r1 | %A-1-B",
                "<166>Mar 01 2024 18:46:11: %ASA-6-302013: x           | 2024-03-01T18:46:11Z     | - | %ASA-6-302013",
                "<166>Mar  1 2024 18:46:11 fw1 : %ASA-6-302013: x      | 2024-03-01T18:46:11Z     | fw1 |"
                        + " %ASA-6-302013",
                "<189>: 2024 Mar  1 18:46:11 EST: %ETH-5-UP: x         | 2024-03-01T23:46:11Z     | - | %ETH-5-UP",
                "<189>2024 Mar 1 18:46:11.123456 r1 %ETH-5-UP: x       | 2024-03-01T18:46:11.123456Z | r1 | %ETH-5-UP",
                "<189>Mar  1 18:46:11 +02:00 r1 %ETH-5-UP: x           | 2026-03-01T16:46:11Z     | r1 | %ETH-5-UP",
                "<189>Mar  1 18:46:11-0130: %ETH-5-UP: x               | 2026-03-01T20:16:11Z     | - | %ETH-5-UP",
                "<189>Mar  1 18:46:11Z r1 %ETH-5-UP: x                 | 2026-03-01T18:46:11Z     | r1 | %ETH-5-UP"
            })
    void devices(String message, String time, String host, String id) {
        Map<String, Object> row = row(message);
        assertEquals(micros(time), row.get("time"));
        assertEquals(host, row.get("instance"));
        assertEquals("x", row.get("body"));
        assertFalse(row.containsKey("service"), row.toString());
        String attributes = row.get("attributes").toString();
        assertTrue(attributes.contains("\"message.id\":\"" + id + "\""), attributes);
        assertEquals(message.contains("29: "), attributes.contains("\"sequence\":\"29\""), attributes);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "<13>29: no time",
                "<13>router: no time",
                "<13>Mar 1 18:46 x",
                "<13>Mar 1 18:46:11x",
                "<13>Mar 1 18:46:11"
            })
    void withoutATimeAllIsTheBody(String message) {
        Map<String, Object> row = row(message);
        assertEquals(message.substring(4), row.get("body"));
        assertEquals("{\"facility\":1}", row.get("attributes"));
    }

    @Test
    void aZoneOfTheReceiver() {
        String old = "<13>Jul 1 12:00:00 h t: m";
        String type = "text/x-syslog; zone=Europe/Berlin";
        long received = micros("2026-07-01T11:00:00Z");
        assertEquals(micros("2026-07-01T10:00:00Z"), row(type, old, received).get("time"));
        assertEquals(
                micros("2026-01-01T11:00:00Z"),
                row(type, "<13>Jan 1 12:00:00 h t: m", RECEIVED).get("time"));
        assertEquals(
                micros("2026-07-01T10:00:00Z"),
                row(type, "<13>2026-07-01T12:00:00 h t: m", received).get("time"));
        // What names a zone keeps it.
        assertEquals(
                micros("2026-07-01T12:00:00Z"),
                row(type, "<13>Jul 1 12:00:00 UTC: %A-1-B: m", received).get("time"));
        assertEquals(
                micros("2026-07-01T12:00:00Z"),
                row(type, "<13>1 2026-07-01T12:00:00Z h a p m - x", received).get("time"));
        assertEquals(
                micros("2026-07-01T10:00:00Z"),
                row("text/x-syslog; zone=+02:00", old, received).get("time"));
        String error =
                row("text/x-syslog; zone=Moon/Sea", old, received).get("error").toString();
        assertTrue(error.contains("time zone Moon/Sea, which this Java does not know"), error);
    }

    /** The example of RFC 5424, section 7.2.2, has the parameter ip twice. */
    @Test
    void aRepeatedParameterIsAnArray() {
        assertEquals(
                "{\"facility\":4,\"origin\":{\"ip\":[\"192.0.2.1\",\"192.0.2.129\"],\"software\":\"x\"},"
                        + "\"a\":[{\"b\":\"1\"},{\"c\":\"2\"}]}",
                row("<34>1 - - - - - [origin ip=\"192.0.2.1\" ip=\"192.0.2.129\" software=\"x\"][a b=\"1\"][a c=\"2\"]"
                                + " m")
                        .get("attributes"));
    }

    @Test
    void structuredDataOverwritesNoAttributeOfTheHeader() {
        assertEquals(
                "{\"facility\":4,\"process.id\":\"7\",\"message.id\":\"ID\",\"sd.facility\":{\"a\":\"1\"},"
                        + "\"sd.process.id\":{},\"sd.message.id\":{\"b\":\"2\"}}",
                row("<34>1 - - - 7 ID [facility a=\"1\"][process.id][message.id b=\"2\"] m")
                        .get("attributes"));
    }

    private static Map<String, Object> row(String message) {
        return row("text/x-syslog", message, RECEIVED);
    }

    private static Map<String, Object> row(String type, String message, long received) {
        return Rows.rows(LogsFunction.invoke(Rows.text(type), message.getBytes(UTF_8), received, null), LogRow.SCHEMA)
                .get(0);
    }

    private static long micros(String instant) {
        Instant at = Instant.parse(instant);
        return at.getEpochSecond() * 1_000_000 + at.getNano() / 1000;
    }
}
