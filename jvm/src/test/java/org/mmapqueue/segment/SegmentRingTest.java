package org.mmapqueue.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DiskStorage;

/** The files of the ring: which exist, and how new, existing, too long and deleted ones are treated. */
class SegmentRingTest {
    private static final int SIZE = 4096;

    @TempDir
    Path temp;

    private SegmentRing ring() {
        return new SegmentRing(DiskStorage.INSTANCE, temp, new Geometry(Format.V2, SIZE, 12));
    }

    private void make(String name, int bytes) throws IOException {
        Files.write(temp.resolve(name), new byte[bytes]);
    }

    @Test
    void onlySlotsOfTheRingAreFound() throws IOException {
        for (String name : new String[] {
            "0_segment.dat",
            "11_segment.dat",
            "12_segment.dat",
            "x_segment.dat",
            "_segment.dat",
            "-1_segment.dat",
            "99999999999_segment.dat",
            "3_segment.bak",
            "meta.dat"
        }) {
            make(name, 1);
        }
        assertEquals(Set.of(0, 11), new TreeSet<>(ring().slots()));
    }

    @Test
    void deletingSaysWhatTheFileHad() throws IOException {
        make("1_segment.dat", 100);
        assertEquals(100, ring().delete(1));
        assertEquals(0, ring().delete(1));
        assertThrows(NoSuchFileException.class, () -> ring().force(1));
    }

    @Test
    void aFileIsFoundMadeOrMadeAnew() throws IOException {
        SlotFile made = ring().slotFile(1);
        assertTrue(made.openToWrite());
        assertFalse(made.openToWrite(), "it is open");
        assertFalse(made.syncLength(), "it is short");
        made.fill(SIZE);
        assertTrue(made.syncLength());
        made.detach().close();
        SlotFile found = ring().slotFile(1);
        assertFalse(found.openToWrite());
        found.detach().close();
        make("1_segment.dat", SIZE + 1);
        SlotFile tooLong = ring().slotFile(1);
        assertTrue(tooLong.openToWrite());
        assertEquals(0, Files.size(temp.resolve("1_segment.dat")));
        tooLong.detach().close();
    }

    @Test
    void onlyAFileOfFullSizeIsMapped() throws IOException {
        for (int bytes : new int[] {SIZE - 1, SIZE + 1}) {
            make("1_segment.dat", bytes);
            SlotFile wrong = ring().slotFile(1);
            CorruptException refused = assertThrows(CorruptException.class, () -> wrong.map(true));
            assertEquals(Math.min(bytes, SIZE), refused.position());
            assertNull(wrong.mapping());
            wrong.detach().close();
        }
        SlotFile missing = ring().slotFile(2);
        assertThrows(CorruptException.class, () -> missing.map(false));
    }
}
