package org.mmapqueue.json;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class JsonTest {
    /** A record with a component of each kind. */
    public record Sample(int number, Optional<String> text, List<Long> list, Sample inner) {}

    @Test
    void values() {
        List<Object> values = new ArrayList<>(Arrays.asList(
                null,
                true,
                Long.MIN_VALUE,
                1.5,
                "a",
                Optional.empty(),
                Optional.of(2),
                Instant.ofEpochSecond(1, 2_999),
                Duration.ofNanos(1_999),
                TimeUnit.DAYS,
                Path.of("/a b"),
                List.of(),
                Map.of()));
        assertEquals(
                "[null,true,-9223372036854775808,1.5,\"a\",null,2,1000002,1,\"days\",\"/a b\",[],{}]", Json.of(values));
    }

    @Test
    void objects() {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put(1, "one");
        map.put("two", List.of(2));
        assertEquals("{\"1\":\"one\",\"two\":[2]}", Json.of(map));
        Sample inner = new Sample(2, Optional.empty(), List.of(), null);
        assertEquals(
                "{\"number\":1,\"text\":\"x\",\"list\":[3,4],\"inner\":"
                        + "{\"number\":2,\"text\":null,\"list\":[],\"inner\":null}}",
                Json.of(new Sample(1, Optional.of("x"), List.of(3L, 4L), inner)));
    }

    @Test
    void anyStringIsOneLineOfAscii() {
        assertEquals(
                "\"\\\"\\\\ \\u000a\\u0000\\u007f\\u00e4\\ud83d\\ude00\\ud800\"", Json.of("\"\\ \n\0\u007fä😀\ud800"));
    }
}
