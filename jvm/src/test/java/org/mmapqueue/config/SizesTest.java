package org.mmapqueue.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.mmapqueue.errors.ConfigException;

/** Sizes, and invalid texts: tests/queues/test_durations.py runs the same table through Python's parser. */
class SizesTest {
    @ParameterizedTest
    @CsvFileSource(resources = "/sizes.csv", numLinesToSkip = 1)
    void theStringsOfTheTable(String text, Long bytes) {
        assertEquals(bytes == null ? OptionalLong.empty() : OptionalLong.of(bytes), Sizes.parse(text));
    }

    @Test
    void theErrorHasNameAndValue() {
        ConfigException refused = assertThrows(ConfigException.class, () -> Sizes.parse("some_key", "much"));
        assertEquals("some_key", refused.key());
        assertEquals("much", refused.value());
    }
}
