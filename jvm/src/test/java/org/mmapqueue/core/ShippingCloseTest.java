package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.archive.ShipOptions;
import org.mmapqueue.archive.Shipper;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.QuickDirectory;

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
        Field field = Shipping.class.getDeclaredField("shipper");
        field.setAccessible(true);
        field.set(core.shipping(), shipper);
        assertSame(failure, assertThrows(Error.class, core::close));
        assertTrue(core.isClosed());
        Cores.open(config, DiskStorage.INSTANCE).close();
    }
}
