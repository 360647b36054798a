package org.mmapqueue.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.errors.ConfigException;

class SizesTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "131072, 131072",
        "128k, 131072",
        "128K, 131072",
        "' 128 k ', 131072",
        "128kb, 131072",
        "128KiB, 131072",
        "16m, 16777216",
        "16 MB, 16777216",
        "1g, 1073741824",
        "1GiB, 1073741824",
        "5b, 5",
        "007, 7",
        "8589934591g, 9223372035781033984",
        "9223372036854775807, 9223372036854775807"
    })
    void sizesAsPeopleWriteThem(String text, long bytes) {
        assertEquals(bytes, Sizes.parse("key", text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "k",
                "1.5k",
                "1,5k",
                "-1",
                "+1",
                "1t",
                "1 000",
                "0x10",
                "1kk",
                "1ib",
                "ten",
                "9223372036854775808",
                "12345678901234567890",
                "8589934592g",
                "9007199254740992k k"
            })
    void everythingElseIsRefusedByNameAndValue(String text) {
        ConfigException refused = assertThrows(ConfigException.class, () -> Sizes.parse("some_key", text));
        assertEquals("some_key", refused.key());
        assertEquals(text, refused.value());
    }
}
