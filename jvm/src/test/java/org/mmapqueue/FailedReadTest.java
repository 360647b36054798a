package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.mmapqueue.support.EndOfStack;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** A thread that fails while it pops, acks, reads, seeks or flushes stops no other thread. */
@Tag("long-form")
@Tag("slow")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailedReadTest {
    private static final int SEGMENT = 16_384;
    private static final int LENGTH = 600;
    /** Rounds of stack overflows, each at other depths. */
    private static final int ROUNDS = Integer.getInteger("overflow.rounds", 2);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue queue;
    private Consumer consumer;
    private long pushed;

    @BeforeEach
    void open() {
        queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(40)
                .maxInMemSegments(6)
                .maxEventSize(20_000)
                .flushPeriod(Duration.ofMinutes(10))
                .build());
        consumer = queue.consumer();
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            // Some records continue in the next segment.
            queue.push(Payload.of(pushed, pushed % 50 == 49 ? SEGMENT + 100 : LENGTH));
            pushed++;
        }
    }

    private static void check(Message message) {
        if (message != null) {
            Payload.assertMessages(
                    message.offset(), List.of(Payload.of(message.offset(), message.data().length)), List.of(message));
        }
    }

    /** The call at the end of the stack. */
    private enum Step {
        POLL {
            @Override
            void run(FailedReadTest test) {
                check(test.consumer.poll());
            }
        },
        ACK {
            @Override
            void run(FailedReadTest test) {
                check(test.consumer.poll());
                long read = test.consumer.readOffset();
                if (read > test.consumer.committedOffset()) {
                    test.consumer.ackUpTo(read - 1);
                }
            }
        },
        ACK_SINGLE {
            @Override
            void run(FailedReadTest test) {
                check(test.consumer.poll());
                long read = test.consumer.readOffset();
                if (read > test.consumer.committedOffset()) {
                    test.consumer.ack(read - 1);
                    check(test.consumer.peek());
                }
            }
        },
        GET {
            @Override
            void run(FailedReadTest test) {
                long first = test.queue.firstOffset();
                check(test.queue.get(first + (System.identityHashCode(new Object()) & 15)));
            }
        },
        SEEK {
            @Override
            void run(FailedReadTest test) {
                test.consumer.seek(StartAt.offset(test.consumer.committedOffset()));
                check(test.consumer.poll());
            }
        },
        FLUSH {
            @Override
            void run(FailedReadTest test) {
                test.queue.flush();
            }
        };

        abstract void run(FailedReadTest test);
    }

    private void runDeep(Step step) throws InterruptedException {
        // Initialises every class first: a class that overflows the stack then is unusable in this JVM.
        check(consumer.peek());
        step.run(this);
        assertNull(EndOfStack.reach(() -> step.run(this)));
    }

    @ParameterizedTest
    @EnumSource(Step.class)
    void aStackOverflowAtAnyDepthStopsNoOtherThread(Step step) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            push(120);
            runDeep(step);
            // Records popped by the failed call are in flight: the seek requeues them.
            consumer.seek(StartAt.COMMITTED);
            long committed = consumer.committedOffset();
            check(queue.firstOffset() == pushed ? null : queue.get(pushed - 1));
            for (long offset = committed; offset < pushed; offset++) {
                check(consumer.poll());
            }
            queue.flush();
            consumer.ackUpTo(pushed - 1);
            assertEquals(pushed, consumer.committedOffset());
            assertNull(consumer.poll());
        }
    }

    /** What a failing handler throws. */
    static List<Throwable> failures() {
        return List.of(
                new IllegalStateException("injected"),
                new OutOfMemoryError("injected"),
                new StackOverflowError("injected"),
                new ThreadDeath(),
                new Error("injected"));
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> E unchecked(Throwable failure) throws E {
        throw (E) failure;
    }

    /** A handler that takes {@code takes} records and throws at the next one. */
    private static MessageHandler failing(Throwable failure, int takes) {
        int[] left = {takes};
        return (offset, timestamp, buffer, start, length, attempts) -> {
            if (left[0]-- == 0) {
                throw FailedReadTest.<RuntimeException>unchecked(failure);
            }
        };
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aRecordWhoseHandlerFailsIsNotPoppedAndNothingIsHeld(Throwable failure) throws Exception {
        push(60);
        assertSame(failure, assertThrows(failure.getClass(), () -> consumer.poll(failing(failure, 0))));
        assertEquals(60, consumer.size());
        // Record 49 continues in the next segment.
        for (int takes : new int[] {0, 3, 46}) {
            long before = 60 - consumer.size();
            assertSame(
                    failure,
                    assertThrows(
                            failure.getClass(),
                            () -> consumer.popBatch(60, Long.MAX_VALUE, Duration.ZERO, failing(failure, takes))));
            assertEquals(60 - before - takes, consumer.size());
            assertSame(
                    failure,
                    assertThrows(
                            failure.getClass(),
                            () -> queue.getMany(before, 60, Long.MAX_VALUE, failing(failure, takes))));
        }
        consumer.nack(5);
        assertSame(failure, assertThrows(failure.getClass(), () -> consumer.poll(failing(failure, 0))));
        Waiting.start(() -> {
                    Message again = consumer.poll();
                    assertEquals(5, again.offset());
                    assertEquals(2, again.attempts());
                    for (long offset = 60 - consumer.size(); offset < 60; offset++) {
                        Message next = consumer.poll();
                        assertEquals(offset, next.offset());
                        assertEquals(1, next.attempts());
                        check(next);
                        check(queue.get(offset));
                    }
                    push(1);
                    consumer.ackUpTo(59);
                    return queue.get(60);
                })
                .result();
    }
}
