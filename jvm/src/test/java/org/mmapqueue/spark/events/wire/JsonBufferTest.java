package org.mmapqueue.spark.events.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** An object has each name once. */
class JsonBufferTest {
    private final JsonBuffer out = new JsonBuffer();

    @Test
    void valuesOfARepeatedNameAreAnArrayAtTheFirst() {
        out.open('{').key("a").number(1).key("b").string("x").key("a").string("y,}");
        out.key("c")
                .open('[')
                .number(1)
                .number(2)
                .close(']')
                .key("a")
                .nothing()
                .key("c")
                .bool(true);
        assertEquals("{\"a\":[1,\"y,}\",null],\"b\":\"x\",\"c\":[[1,2],true]}", taken());
    }

    @Test
    void eachObjectHasItsOwnNames() {
        out.open('[')
                .open('{')
                .key("a")
                .open('{')
                .key("a")
                .number(1)
                .key("a")
                .number(2)
                .close('}');
        out.key("b").open('[').open('{').key("a").number(3).close('}').close(']');
        out.key("a").number(4).close('}').open('{').key("a").number(5).close('}');
        assertEquals(
                "[{\"a\":[{\"a\":[1,2]},4],\"b\":[{\"a\":3}]},{\"a\":5}]",
                out.close(']').take().toString());
    }

    @Test
    void namesThatTheirEscapesMakeEqual() {
        byte[] broken = {(byte) 0xff};
        byte[] otherwise = {(byte) 0xfe};
        out.open('{')
                .key(broken, 0, 1)
                .number(1)
                .key(otherwise, 0, 1)
                .number(2)
                .key("\"")
                .number(3)
                .key("\"")
                .number(4);
        assertEquals("{\"\uFFFD\":[1,2],\"\\\"\":[3,4]}", taken());
    }

    @Test
    void whatFollowsIsWrittenAfterIt() {
        out.open('{')
                .key("o")
                .open('{')
                .key("a")
                .number(1)
                .key("a")
                .number(2)
                .close('}')
                .key("z")
                .number(3);
        assertEquals("{\"o\":{\"a\":[1,2]},\"z\":3}", taken());
        out.open('{').key("a").number(1);
        assertEquals("{\"a\":1}", taken());
    }

    @Test
    void manyNames() {
        Random random = new Random(7);
        for (int round = 0; round < 200; round++) {
            TreeMap<Integer, StringBuilder> expected = new TreeMap<>();
            out.open('{');
            // In ascending order of the first of each name.
            int names = 1 + random.nextInt(60);
            for (int i = 0; i < 2 * names; i++) {
                int name = i < names ? i : random.nextInt(names);
                out.key("n" + name).number(i);
                expected.computeIfAbsent(name, each -> new StringBuilder())
                        .append(i)
                        .append(',');
            }
            StringBuilder text = new StringBuilder("{");
            expected.forEach((name, values) -> {
                String all = values.substring(0, values.length() - 1);
                text.append("\"n")
                        .append(name)
                        .append("\":")
                        .append(all.contains(",") ? "[" + all + "]" : all)
                        .append(',');
            });
            assertEquals(text.substring(0, text.length() - 1) + "}", taken());
        }
    }

    private String taken() {
        return out.close('}').take().toString();
    }
}
