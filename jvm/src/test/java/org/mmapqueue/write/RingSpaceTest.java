package org.mmapqueue.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.MetaPageV2;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.swap.Scopes;
import org.mmapqueue.swap.Swapper;

class RingSpaceTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MetaPage meta;

    /** As the JVM reports a fault in a mapping, late. Whoever creates a consumer waits while a position is announced. */
    @Test
    void anErrorWithdrawsTheAnnouncedPosition() throws IOException {
        QueueConfig config = QueueConfig.builder(temp)
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        QueueCore core = Cores.open(config, DiskStorage.INSTANCE);
        meta = MetaPageV2.open(DiskStorage.INSTANCE, temp);
        Registry registry = new Registry(DiskStorage.INSTANCE, temp, meta);
        Swapper swapper = new Swapper(
                new SegmentRing(DiskStorage.INSTANCE, temp, core.settings().geometry()), 4, true, noScopes());
        try {
            ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
            for (int i = 0; i < 20; i++) {
                core.writer().push(new byte[1000], 0, 1000);
                core.ackUpTo(consumer, consumer.poll().offset());
            }
            core.writer().flush();
            RingSpace space = new RingSpace(
                    core.settings(), failing(), swapper, registry, core.writer().flusher());
            space.start();
            assertThrows(InternalError.class, () -> space.reclaim(0));
            assertEquals(0, meta.reclaimed());
            assertEquals(0, meta.reclaiming());
        } finally {
            swapper.close();
            registry.close();
            core.close();
            meta.close();
        }
    }

    // A page whose use fails while a position is announced.
    private MetaPage failing() {
        return (MetaPage) Proxy.newProxyInstance(
                MetaPage.class.getClassLoader(), new Class<?>[] {MetaPage.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("consumerChanges") && meta.reclaiming() > meta.reclaimed()) {
                        throw new InternalError("injected");
                    }
                    return method.invoke(meta, arguments);
                });
    }

    private static Scopes noScopes() {
        return new Scopes() {
            @Override
            public long writing() {
                return 0;
            }

            @Override
            public long[] reading() {
                return new long[0];
            }
        };
    }
}
