package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import org.mmapqueue.errors.ConfigException;

/** How many producers there can be, and where there can be none. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProducerLimitsTest {
    private static final int MOST = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void aThousandProducersAndNoMore() throws InterruptedException {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue")).flushPeriodMillis(600_000).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (int i = 0; i < MOST; i++) {
                assertEquals(i, queue.pushOnce("p" + i, i, List.of(new byte[1]), Duration.ZERO));
            }
            ConfigException refused = assertThrows(ConfigException.class,
                    () -> queue.pushOnce("another", 0, List.of(new byte[1]), Duration.ZERO));
            assertEquals("producer", refused.key());
            queue.forgetProducer("p17");
            assertEquals(MOST, queue.pushOnce("another", 0, List.of(new byte[1]), Duration.ZERO));
        }
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertEquals(MOST, queue.producers().size());
            assertEquals(OptionalLong.of(MOST - 1), queue.lastSequence("p" + (MOST - 1)));
            assertEquals(MOST + 1, queue.endOffset());
        }
    }

    @Test
    void version1HasNoPlaceForThem() {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue")).formatVersion(1).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (ConfigException refused : List.of(
                    assertThrows(ConfigException.class,
                            () -> queue.pushOnce("p", 0, List.of(new byte[1]), Duration.ZERO)),
                    assertThrows(ConfigException.class, () -> queue.lastSequence("p")),
                    assertThrows(ConfigException.class, queue::producers),
                    assertThrows(ConfigException.class, () -> queue.forgetProducer("p")))) {
                assertEquals("format_version", refused.key());
            }
            assertEquals(0, queue.endOffset());
        }
    }
}
