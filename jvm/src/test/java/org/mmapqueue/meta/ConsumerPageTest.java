package org.mmapqueue.meta;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConsumerPageTest {
    private static final MetaFields QUEUE = new MetaFields(2, 8, 4096, 1, 2, true, 1000, 0, 1);
    private static final int ROUNDS = 5000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** Otherwise the label has the text of one thread and the checksum of the other, and counts as none. */
    @Test
    void theLabelsOfTwoThreadsAreNotMixed() throws Exception {
        Path path = temp.resolve("one.dat");
        ConsumerPage.create(DiskStorage.INSTANCE, path, QUEUE, 0, 0);
        List<String> labels = List.of("a".repeat(3000), "b".repeat(2999));
        CyclicBarrier together = new CyclicBarrier(2);
        try (ConsumerPage page = ConsumerPage.open(DiskStorage.INSTANCE, path, QUEUE)) {
            Waiting.Running<Void> other = Waiting.start(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    together.await();
                    page.label(labels.get(1));
                    together.await();
                }
                return null;
            });
            for (int round = 0; round < ROUNDS; round++) {
                together.await();
                page.label(labels.get(0));
                together.await();
                assertTrue(labels.contains(page.label()), "the label in round " + round);
            }
            other.result();
        }
    }
}
