package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.core.OpenQueues;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** The ring gives up a record for the archive while a call reads it: the call goes on in the archive. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OvertakenReadTest {
    /** Several rings. */
    private static final int MANY = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueCore queue;
    /** Runs once, when the consumer has seen that nothing was dropped. */
    private Runnable afterTheLook = () -> {};

    private void push(int from, int to) {
        for (int i = from; i < to; i++) {
            try {
                assertEquals(i, queue.writer().push(payload(i), 0, 500, TimeUnit.MINUTES.toNanos(1), () -> false));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static byte[] payload(long number) {
        return Payload.numbered(number, 500);
    }

    private ConsumerCursors watched(ConsumerPage page) {
        return (ConsumerCursors) Proxy.newProxyInstance(
                ConsumerCursors.class.getClassLoader(),
                new Class<?>[] {ConsumerCursors.class},
                (proxy, method, arguments) -> {
                    Object result = method.invoke(page, arguments);
                    if (method.getName().equals("dropped")) {
                        Runnable work = afterTheLook;
                        afterTheLook = () -> {};
                        work.run();
                    }
                    return result;
                });
    }

    // An archive that has all records, one in each chunk.
    private static final QueueArchive ARCHIVE = new QueueArchive() {
        @Override
        public boolean isThere() {
            return true;
        }

        @Override
        public long firstOffset() {
            return 0;
        }

        @Override
        public OptionalLong find(Instant time) {
            return OptionalLong.empty();
        }

        @Override
        public ReadAhead readAhead(String consumer, boolean skipsDamage) {
            OlderRecords records = new OlderRecords() {
                @Override
                public OlderChunk read(long from) {
                    OlderChunk.Builder chunk = new OlderChunk.Builder(from);
                    chunk.add(from, 0, payload(from), 0, 500);
                    return chunk.build(from + 1);
                }

                @Override
                public void reuse(OlderChunk chunk) {}

                @Override
                public void close() {}
            };
            return new ReadAhead(records, consumer, "mmapqueue-test-older", () -> {});
        }
    };

    @Test
    void aPeekMovesNoConsumer() throws Exception {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxEventSize(2000)
                .flushPeriod(Duration.ofMillis(5))
                .archiveUri(temp.resolve("archive").toUri())
                .shipPeriod(Duration.ofMillis(5))
                .overflow("archive")
                .build();
        queue = OpenQueues.acquire(Cores.values(config));
        try {
            push(0, 10);
            queue.createConsumer("late", StartAt.EARLIEST);
            try (ConsumerPage page = ConsumerPage.open(
                            DiskStorage.INSTANCE,
                            temp.resolve("queue/consumers/late.dat"),
                            MetaImage.read(DiskStorage.INSTANCE, temp.resolve("queue"))
                                    .fields());
                    ConsumerCore late = new ConsumerCore(
                            "late",
                            watched(page),
                            queue.log(),
                            queue.settings().delivery(),
                            null,
                            ARCHIVE,
                            () -> {})) {
                afterTheLook = () -> push(10, MANY);
                Message found = late.peek();
                assertEquals(0, found.offset());
                assertArrayEquals(payload(0), found.data());
                assertTrue(queue.log().firstOffset() > 10);
                assertEquals(0, late.committedOffset());
                assertEquals(0, late.poll().offset());
            }
        } finally {
            OpenQueues.release(queue);
        }
    }
}
