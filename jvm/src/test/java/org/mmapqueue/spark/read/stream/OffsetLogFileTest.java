package org.mmapqueue.spark.read.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.common.PartitionOffsets;

class OffsetLogFileTest {
    private static final String METADATA = "{\"batchWatermarkMs\":0,\"batchTimestampMs\":1700000000000,\"conf\":{}}";
    private static final String TWO_SOURCES = "v1\n" + METADATA + "\n{\"logOffset\":3}\n{\"0\":12,\"1\":40}";
    private static final String NAMED = "v2\n" + METADATA + "\norders:{\"0\":12}\n1:{\"0\":7}\nnone:-";

    @Test
    void aLineBelongsToTheSourceWithItsNumber() {
        assertEquals(position("{\"0\":12,\"1\":40}"), OffsetLogFile.parse(TWO_SOURCES, "1"));
    }

    @Test
    void metadataMayBeMissing() {
        assertEquals(position("{\"0\":5}"), OffsetLogFile.parse("v1\n\n{\"0\":5}\n", "0"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "2", "01", "-1", "orders", "", "99999999999"})
    void otherSourcesOfVersion1HaveNoPosition(String source) {
        assertEquals(Optional.empty(), OffsetLogFile.parse(TWO_SOURCES, source));
    }

    @Test
    void aLineOfVersion2HasTheNameOfItsSource() {
        assertEquals(position("{\"0\":12}"), OffsetLogFile.parse(NAMED, "orders"));
        assertEquals(position("{\"0\":7}"), OffsetLogFile.parse(NAMED, "1"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "2", "none", "order", "orders:{\"0\""})
    void otherSourcesOfVersion2HaveNoPosition(String source) {
        assertEquals(Optional.empty(), OffsetLogFile.parse(NAMED, source));
    }

    @Test
    void aNameThatOccursTwiceHasNoPosition() {
        assertEquals(Optional.empty(), OffsetLogFile.parse("v2\n{}\na:{\"0\":1}\na:{\"0\":1}", "a"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "v1",
                "v1\n{}",
                "v1\n{}\n",
                "v1\n{}\n-",
                "v1\n{}\n{\"0\":1",
                "v1\n{}\n{\"0\":1}x",
                "v1\n{}\n0:{\"0\":1}",
                "v2\n{}\n{\"0\":1}",
                "v3\n{}\n{\"0\":1}",
                "V1\n{}\n{\"0\":1}",
                "{\"0\":1}\n{\"0\":1}\n{\"0\":1}"
            })
    void anUnknownOrIncompleteFileHasNoPosition(String text) {
        assertEquals(Optional.empty(), OffsetLogFile.parse(text, "0"));
    }

    private static Optional<PartitionOffsets> position(String json) {
        return Optional.of(PartitionOffsets.parse(json));
    }
}
