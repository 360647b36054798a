package org.mmapqueue.lookup;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** Queues that are read by offset. */
abstract class RandomAccessFixture {
    static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;
}
