package org.mmapqueue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.QuickDirectory;

/** One part of what every queue does, whatever its configuration: an open queue that is closed afterwards. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ContractTest {
    @Parameter
    Setup setup;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    Path directory;
    MmapQueue queue;

    @BeforeEach
    final void openQueue() {
        directory = temp.resolve("queue");
        queue = setup.open(directory);
    }

    @AfterEach
    final void closeQueue() {
        queue.close();
    }

    final void reopen() {
        queue.close();
        queue = setup.open(directory);
    }

    /** The default consumer's number of the record that was pushed as {@code offset} since the queue was made. */
    final long offsetNow(long offset, long ackedBefore) {
        // Version 1 stores no numbers: they begin at the committed position, at every open.
        return setup.isV1() ? offset - ackedBefore : offset;
    }

    /** Pushes records of a tenth of a segment until there is no room. */
    final List<byte[]> fill() {
        List<byte[]> pushed = new ArrayList<>();
        while (true) {
            byte[] next = setup.tenth(pushed.size());
            try {
                queue.push(next);
            } catch (FullException e) {
                return pushed;
            }
            pushed.add(next);
        }
    }
}
