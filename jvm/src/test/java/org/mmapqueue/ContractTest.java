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

/** Base of the contract tests, which run for every {@link Setup}: a queue that is open during the test. */
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

    /** The offset that the default consumer sees for the record that was pushed at {@code offset} of a new queue. */
    final long offsetNow(long offset, long ackedBefore) {
        // Version 1 stores no offsets: each open counts them from the committed position.
        return setup.isV1() ? offset - ackedBefore : offset;
    }

    /** Pushes records of a tenth of a segment until the ring is full. */
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
