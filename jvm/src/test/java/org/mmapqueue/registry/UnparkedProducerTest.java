package org.mmapqueue.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.MetaPageV2;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Two threads ask for a parked producer: neither finds its page before the sequences in it count. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnparkedProducerTest {
    private static final int ROUNDS = 5000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final AtomicBoolean ended = new AtomicBoolean();

    @Test
    void anUnparkedPageHasItsSequence() throws Exception {
        Path directory = temp.resolve("queue");
        QueueConfig config = QueueConfig.builder(directory)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        QueueCore core = Cores.open(config, DiskStorage.INSTANCE);
        try (MetaPage meta = MetaPageV2.open(DiskStorage.INSTANCE, directory);
                Producers producers = new Producers(DiskStorage.INSTANCE, directory, meta.fields(), 1)) {
            Producers.Host host =
                    new Producers.Host(ProducerPage::retire, core.writer().flusher());
            push(producers.page("a", host));
            push(producers.page("b", host));
            Waiting.Running<Boolean> looking = Waiting.start(() -> areStarted(producers));
            for (int round = 0; round < ROUNDS && !looking.isDone(); round++) {
                assertEquals(OptionalLong.of(7), producers.last(round % 2 == 0 ? "a" : "b", host));
            }
            ended.set(true);
            assertTrue(
                    looking.result(), "a page was found without its sequence: the next push would store a duplicate");
        } finally {
            core.close();
        }
    }

    private static void push(ProducerPage page) {
        page.store(7, 1, 0, null);
        page.accept();
        assertTrue(page.beginSync(() -> 0));
        page.endSync();
        assertTrue(page.isIdle());
    }

    private boolean areStarted(Producers producers) {
        while (!ended.get()) {
            for (ProducerPage each : producers.pages()) {
                if (each.newest() == ProducerPage.NONE) {
                    return false;
                }
            }
        }
        return true;
    }
}
