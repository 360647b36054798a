package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records that three revisions of SkyWalking Satellite wrote; the manifests say what is in them. */
class SatelliteSamplesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long MICROS = 1_000_000;

    private static Iterable<JsonNode> records(String name) throws IOException {
        Path at = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(at.resolve("tests/data/v1-samples"))) {
            at = at.getParent();
        }
        return JSON.readTree(
                        at.resolve("tests/data/v1-samples/" + name + ".json").toFile())
                .get("to_deliver");
    }

    private static byte[] payload(JsonNode record) {
        return HexFormat.of().parseHex(record.get("payload_hex").asText());
    }

    @ParameterizedTest
    @ValueSource(strings = {"k1-events-protobuf-2020", "k2-events-protobuf-main"})
    void protobuf(String name) throws IOException {
        int seen = 0;
        for (JsonNode record : records(name)) {
            if (!record.has("payload_hex")) {
                continue;
            }
            JsonNode expected = record.get("event");
            Map<String, Object> event = Rows.event(payload(record));
            assertEquals(expected.get("name").asText(), event.get("name"));
            assertEquals("Logging", event.get("type"));
            assertEquals(expected.get("remote").asBoolean(), event.get("remote"));
            assertEquals(JSON.convertValue(expected.get("meta"), Map.class), event.get("meta"));
            // These pushers gave seconds.
            assertEquals(expected.get("timestamp").asLong() * 1000, event.get("time"));
            Map<String, Object> log = Rows.logs(event.get("content_type").toString(), (byte[]) event.get("data"))
                    .get(0);
            assertEquals(expected.get("text").asText(), log.get("body"));
            assertEquals(expected.get("service").asText(), log.get("service"));
            assertEquals(expected.get("service_instance").asText(), log.get("instance"));
            assertEquals(expected.get("endpoint").asText(), log.get("endpoint"));
            assertEquals(expected.get("trace_id").asText(), log.get("trace_id"));
            assertEquals(
                    expected.get("trace_segment_id").asText() + "-"
                            + expected.get("span_id").asText(),
                    log.get("span_id"));
            assertEquals("{\"level\":\"INFO\"}", log.get("attributes"));
            assertEquals("INFO", log.get("severity"));
            seen++;
        }
        assertTrue(seen >= 8, "records: " + seen);
    }

    @Test
    void gob() throws IOException {
        int seen = 0;
        for (JsonNode record : records("k3-events-gob-first-commit")) {
            if (!record.has("payload_hex")) {
                continue;
            }
            JsonNode expected = record.get("event");
            Map<String, Object> event = Rows.event(payload(record));
            assertFalse(event.containsKey("error"), event.toString());
            assertEquals(expected.get("name").asText(), event.get("name"));
            assertEquals("Logging", event.get("type"));
            assertEquals(expected.get("remote").asBoolean(), event.get("remote"));
            assertEquals(JSON.convertValue(expected.get("meta"), Map.class), event.get("meta"));
            assertEquals(expected.get("timestamp").asLong() * MICROS, event.get("time"));
            JsonNode fields = JSON.readTree(event.get("fields").toString());
            assertEquals(expected.get("service").asText(), fields.get("service").asText());
            assertEquals(expected.get("span_id").asInt(), fields.get("span_id").asInt());
            assertEquals(
                    expected.get("text").asText(),
                    new String(Base64.getDecoder().decode(fields.get("text").asText()), UTF_8));
            seen++;
        }
        assertTrue(seen >= 11, "records: " + seen);
    }

    @Test
    void damagedGobIsARowWithAnError() throws IOException {
        byte[] record = payload(records("k3-events-gob-first-commit").iterator().next());
        for (int length = 0; length < record.length; length++) {
            Map<String, Object> event = Rows.event(Arrays.copyOf(record, length));
            // The first message alone reads as a list of logs, of which the logs are garbled.
            Object error = event.containsKey("content_type")
                    ? Rows.logs(event.get("content_type").toString(), (byte[]) event.get("data"))
                            .get(0)
                            .get("error")
                    : event.get("error");
            assertNotNull(error, length + ": " + event);
        }
        int errorsOfGob = 0;
        for (int i = 0; i < record.length; i++) {
            byte[] damaged = record.clone();
            damaged[i] ^= 0x55;
            Object error = Rows.event(damaged).get("error");
            errorsOfGob += error != null && error.toString().startsWith("gob: ") ? 1 : 0;
        }
        assertTrue(errorsOfGob > 0);
    }
}
