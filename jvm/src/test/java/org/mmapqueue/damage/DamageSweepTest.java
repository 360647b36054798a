package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.support.QuickDirectory;

/** The short form of {@code make damage}. */
@Tag("long-form")
@Tag("slow")
class DamageSweepTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @ParameterizedTest
    @EnumSource
    void readsReturnThePushedBytesOrAnErrorWithAPosition(Shape shape) {
        DamageSweep sweep = new DamageSweep(temp, Damage.Extent.SHORT, 1, "");
        sweep.run(shape);
        assertEquals(List.of(), sweep.faults);
        assertEquals(Damage.Extent.SHORT.most(), sweep.tried);
    }
}
