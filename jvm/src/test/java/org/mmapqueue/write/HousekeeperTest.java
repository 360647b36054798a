package org.mmapqueue.write;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;

class HousekeeperTest {
    /** Else max_age, gc_on_idle and preallocation would end with a moment without memory. */
    @Test
    void anErrorDoesNotEndIt() throws InterruptedException {
        CountDownLatch calls = new CountDownLatch(2);
        Runnable dropAged = () -> {
            calls.countDown();
            throw new OutOfMemoryError("by the test");
        };
        // Neither the swapper nor the ring is used before the writer has rolled.
        Housekeeper housekeeper = new Housekeeper(
                "housekeeper",
                null,
                null,
                Settings.forNew(ConfigValues.of(Path.of("none"))),
                new Housekeeper.Idle(0, () -> 0, () -> {}),
                new Housekeeper.Periodic(1, dropAged));
        housekeeper.start();
        try {
            assertTrue(calls.await(60, TimeUnit.SECONDS));
        } finally {
            housekeeper.close();
        }
    }
}
