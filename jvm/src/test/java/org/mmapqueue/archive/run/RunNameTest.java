package org.mmapqueue.archive.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RunNameTest {
    @Test
    void aNameSaysAllAndIsReadBack() {
        RunName name = new RunName(120_000_001, 120_000_500, 12, 5, 1_700_000_000_000_000L, 4096, 0x00C0_FFEE);
        assertEquals(
                "0000000000120000001-0000000000120000500-12-5-1700000000000000-4096-00c0ffee.run", name.toString());
        assertEquals("data/00007/000000000012/" + name, name.file(7));
        assertEquals(Optional.of(name), RunName.parse(name.toString()));
        assertEquals(499, name.count());
    }

    @Test
    void lostRecordsFollowTheChecksum() {
        RunName name = new RunName(1, 4, 1, 0, 0, 8, 0x00C0_FFEE, 3);
        assertEquals("0000000000000000001-0000000000000000004-1-0-0-8-00c0ffee-3.run", name.toString());
        assertEquals(Optional.of(name), RunName.parse(name.toString()));
        assertEquals(3, name.withEpoch(2).lost());
    }

    @Test
    void theLargestOffsetFits() {
        RunName name = new RunName(Long.MAX_VALUE - 1, Long.MAX_VALUE, Long.MAX_VALUE, 0, 0, Long.MAX_VALUE, -1);
        assertEquals(Optional.of(name), RunName.parse(name.toString()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "0000000000000000001-0000000000000000002-1-0-0-8-00c0ffee",
                "0000000000000000002-0000000000000000002-1-0-0-8-00c0ffee.run",
                "0000000000000000003-0000000000000000002-1-0-0-8-00c0ffee.run",
                "0000000000000000001-0000000000000000002-1-9-0-8-00c0ffee.run",
                "0000000000000000001-0000000000000000002-1-00-0-8-00c0ffee.run",
                "0000000000000000001-0000000000000000002-01-0-0-8-00c0ffee.run",
                "0000000000000000001-0000000000000000002-0-0-8-00c0ffee.run",
                "0000000000000000001-9999999999999999999-1-0-0-8-00c0ffee.run",
                "0000000000000000001-0000000000000000002-1-0-0-8-00C0FFEE.run",
                ".0000000000000000001-0000000000000000002-1-0-0-8-00c0ffee.run",
                "0000000000000000001-0000000000000000004-1-0-0-8-00c0ffee-0.run",
                "0000000000000000001-0000000000000000004-1-0-0-8-00c0ffee-4.run",
                "1-2-1-0-0-8-00c0ffee.run"
            })
    void otherNamesAreNoRuns(String file) {
        assertTrue(RunName.parse(file).isEmpty(), file);
    }
}
