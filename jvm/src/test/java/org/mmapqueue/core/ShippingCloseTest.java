package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.ShipOptions;
import org.mmapqueue.archive.Shipper;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** An archive that cannot be closed does not keep the queue open. */
class ShippingCloseTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void anErrorAtTheEndOfShippingLeavesNoLock() throws Exception {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue")).build();
        QueueCore core = Cores.open(config, DiskStorage.INSTANCE);
        Error failure = new StackOverflowError("injected");
        ShipOptions options = new ShipOptions("here", Duration.ofHours(1), 1, ArchiveCodec.NONE, Duration.ZERO);
        ArchiveFiles files = (ArchiveFiles) Proxy.newProxyInstance(
                ArchiveFiles.class.getClassLoader(),
                new Class<?>[] {ArchiveFiles.class},
                (proxy, method, arguments) -> {
                    throw failure;
                });
        Shipper shipper = new Shipper("queue", null, URI.create("memory:/archive"), () -> files, options);
        set(core.shipping(), "shipper", shipper);
        assertSame(failure, assertThrows(Error.class, core::close));
        assertTrue(core.isClosed());
        Cores.open(config, DiskStorage.INSTANCE).close();
    }

    @Test
    void theConsumerStaysLockedWhileACallOfTheFileSystemHangs() throws Exception {
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch answers = new CountDownLatch(1);
        ArchiveFiles files = (ArchiveFiles) Proxy.newProxyInstance(
                ArchiveFiles.class.getClassLoader(),
                new Class<?>[] {ArchiveFiles.class},
                (proxy, method, arguments) -> {
                    hangs.countDown();
                    while (answers.getCount() > 0) {
                        try {
                            answers.await();
                        } catch (InterruptedException e) {
                            // as a file system that takes no notice
                        }
                    }
                    throw new IOException("it answers too late");
                });
        QueueConfig config = QueueConfig.builder(temp.resolve("queue")).build();
        QueueCore core = Cores.open(config, DiskStorage.INSTANCE);
        ConsumerCore consumer = core.consumer(Shipping.CONSUMER, StartAt.EARLIEST);
        ShipOptions options = new ShipOptions("here", Duration.ofHours(1), 1, ArchiveCodec.NONE, Duration.ZERO);
        Shipper shipper = new Shipper("queue", null, URI.create("memory:/archive"), () -> files, options);
        set(core.shipping(), "shipping", consumer);
        set(core.shipping(), "shipper", shipper);
        shipper.start();
        Waiting.until("a call hangs", () -> hangs.getCount() == 0);
        core.close();
        assertTrue(core.isClosed());
        QueueCore next = Cores.open(config, DiskStorage.INSTANCE);
        try {
            assertThrows(LockedException.class, () -> next.consumer(Shipping.CONSUMER, StartAt.EARLIEST));
            answers.countDown();
            Waiting.until("the consumer is free", () -> {
                try {
                    next.consumer(Shipping.CONSUMER, StartAt.EARLIEST);
                    return true;
                } catch (LockedException e) {
                    return false;
                }
            });
        } finally {
            next.close();
        }
    }

    private static void set(Shipping shipping, String name, Object value) throws ReflectiveOperationException {
        Field field = Shipping.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(shipping, value);
    }
}
