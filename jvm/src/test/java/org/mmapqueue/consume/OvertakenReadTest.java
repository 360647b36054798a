package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
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

/** The ring gives up records for the archive while a call has them: they are in the archive from then on. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OvertakenReadTest {
    /** Several rings. */
    private static final int MANY = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueCore queue;
    private ConsumerPage page;
    private ConsumerCore late;
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

    private ConsumerCursors watched(ConsumerPage cursors) {
        return (ConsumerCursors) Proxy.newProxyInstance(
                ConsumerCursors.class.getClassLoader(),
                new Class<?>[] {ConsumerCursors.class},
                (proxy, method, arguments) -> {
                    Object result = method.invoke(cursors, arguments);
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

    @BeforeEach
    void openAConsumerInTheRing() throws Exception {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxEventSize(2000)
                .flushPeriod(Duration.ofMillis(5))
                .archiveUri(temp.resolve("archive").toUri())
                .shipPeriod(Duration.ofMillis(5))
                .overflow("archive")
                .maxAttempts(1)
                .deadLetterDir(temp.resolve("dead"))
                .build();
        queue = OpenQueues.acquire(Cores.values(config));
        push(0, 10);
        queue.createConsumer("late", StartAt.EARLIEST);
        page = ConsumerPage.open(
                DiskStorage.INSTANCE,
                temp.resolve("queue/consumers/late.dat"),
                MetaImage.read(DiskStorage.INSTANCE, temp.resolve("queue")).fields());
        // Not one of the queue's own: a flush would tell it what the ring has given up.
        late = new ConsumerCore(
                "late", watched(page), queue.log(), queue.settings().delivery(), null, ARCHIVE, () -> {});
    }

    @AfterEach
    void close() throws Exception {
        late.close();
        page.close();
        OpenQueues.release(queue);
    }

    private Message pop() {
        Message message;
        do {
            message = late.poll();
        } while (message == null && late.awaitOlder(ConsumerCore.NO_DEADLINE));
        return message;
    }

    @Test
    void aPeekMovesNoConsumer() {
        afterTheLook = () -> push(10, MANY);
        Message found = late.peek();
        assertEquals(0, found.offset());
        assertArrayEquals(payload(0), found.data());
        assertTrue(queue.log().firstOffset() > 10);
        assertEquals(0, late.committedOffset());
        assertEquals(0, pop().offset());
    }

    /** @param isBatch whether the pop is one of several records */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatAHandlerDidNotGetIsRedelivered(boolean isBatch) {
        MessageHandler failing = (offset, timestamp, data, start, length, attempts) -> {
            push(10, MANY);
            throw new IllegalStateException("of the test");
        };
        assertThrows(IllegalStateException.class, () -> {
            if (isBatch) {
                late.poll(10, Long.MAX_VALUE, false, failing);
            } else {
                late.poll(failing);
            }
        });
        for (int i = 0; i < 20; i++) {
            Message message = pop();
            assertEquals(i, message.offset());
            assertEquals(1, message.attempts());
        }
    }

    @Test
    void aDeadLetterIsAcked() {
        assertEquals(0, pop().offset());
        assertTrue(late.nack(0, 0));
        new DeadLetters(queue.settings(), config -> new DeadLetters.Target() {
                    @Override
                    public void push(byte[] data) {
                        OvertakenReadTest.this.push(10, MANY);
                    }

                    @Override
                    public void close() {}
                })
                .moveDeadLetters(late);
        assertEquals(1, late.committedOffset());
        assertEquals(1, pop().offset());
    }
}
