package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.QuickDirectory;

/**
 * Another process truncates a file of an open queue: each call says so by a typed error, and the queue can be closed. In a
 * JVM of its own: it may report such a fault late, in whatever runs then, other tests included.
 */
@Tag("slow")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TruncatedFileTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @ParameterizedTest
    @ValueSource(
            strings = {"0_segment.dat", "3_segment.dat", "6_segment.dat", "meta.dat", "consumers/one.dat", "names"})
    void isATypedError(String name) throws Exception {
        assertDone(name);
    }

    /** As a full file system does that copies pages when they are written, or one that was shut down after an error. */
    @ParameterizedTest
    @ValueSource(strings = {"0_segment.dat", "6_segment.dat", "consumers/one.dat"})
    void aPageThatCannotBeReadIsATypedErrorWhileNoFileIsTooShort(String name) throws Exception {
        assertDone(TruncatedFileChild.HIDDEN + name);
    }

    private void assertDone(String name) throws Exception {
        try (ChildJvm child = ChildJvm.interpreting(TruncatedFileChild.class, temp.resolve("queue"), name)) {
            assertEquals("done", child.line());
            assertEquals(0, child.exitCode());
        }
    }
}
