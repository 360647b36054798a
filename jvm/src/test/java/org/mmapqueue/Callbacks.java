package org.mmapqueue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A queue, and all calls that run code of the caller. */
abstract class Callbacks {
    static final int SEGMENT = 4096;
    static final int RECORDS = 40;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    MmapQueue queue;

    @BeforeEach
    void open() {
        queue = openIn("queue");
        for (int i = 0; i < RECORDS; i++) {
            queue.push(Payload.of(i, 300)); // several segments
        }
    }

    @AfterEach
    void close() {
        queue.close();
    }

    MmapQueue openIn(String name) {
        return MmapQueue.open(QueueConfig.builder(temp.resolve(name))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(64)
                .maxInMemSegments(8)
                .build());
    }

    /** Runs code inside the first call of one kind of callback, then consumes every further record. */
    enum Caller {
        POLL {
            @Override
            void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen) {
                consumer.poll((offset, timestamp, buffer, start, length, attempts) -> {
                    inside.run();
                    seen.add(offset);
                });
            }
        },
        POP_BATCH {
            @Override
            void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen)
                    throws InterruptedException {
                consumer.popBatch(RECORDS, Long.MAX_VALUE, Duration.ZERO, runningInside(inside, seen));
            }
        },
        GET_MANY {
            @Override
            void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen) {
                queue.getMany(0, RECORDS, Long.MAX_VALUE, runningInside(inside, seen));
            }
        },
        READ_TO_SINK {
            @Override
            void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen) {
                RecordReader reader = queue.reader(0, RECORDS);
                reader.read(RECORDS, Long.MAX_VALUE, (offset, timestamp, data) -> {
                    if (seen.isEmpty()) {
                        inside.run();
                    }
                    seen.add(offset);
                });
            }
        },
        READ_TO_HANDLER {
            @Override
            void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen) {
                RecordReader reader = queue.reader(0, RECORDS);
                reader.read(RECORDS, Long.MAX_VALUE, runningInside(inside, seen));
            }
        },
        PUSH_ARRAY {
            @Override
            void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen)
                    throws InterruptedException {
                seen.add(queue.pushBatch(new Calling(inside), Duration.ZERO));
            }
        },
        IDEMPOTENT_ARRAY {
            @Override
            void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen)
                    throws InterruptedException {
                seen.add(queue.pushOnce("producer", 1, new Calling(inside), Duration.ZERO)
                        .orElseThrow());
            }
        };

        abstract void call(MmapQueue queue, Consumer consumer, Runnable inside, List<Long> seen)
                throws InterruptedException;

        boolean isPush() {
            return this == PUSH_ARRAY || this == IDEMPOTENT_ARRAY;
        }
    }

    // Runs code inside the first call; notes the offset of each.
    private static MessageHandler runningInside(Runnable inside, List<Long> seen) {
        return (offset, timestamp, buffer, start, length, attempts) -> {
            if (seen.isEmpty()) {
                inside.run();
            }
            seen.add(offset);
        };
    }

    /** A batch over several segments that runs code each time its second array is requested. */
    static final class Calling implements Records {
        private final List<byte[]> payloads = List.of(Payload.of(0, 3000), Payload.of(1, 3000), Payload.of(2, 3000));
        private final Runnable inside;

        Calling(Runnable inside) {
            this.inside = inside;
        }

        @Override
        public int count() {
            return payloads.size();
        }

        @Override
        public byte[] array(int i) {
            if (i == 1) {
                inside.run();
            }
            return payloads.get(i);
        }

        @Override
        public int from(int i) {
            return 0;
        }

        @Override
        public int length(int i) {
            return payloads.get(i).length;
        }
    }

    static List<Long> range(long from, long to) {
        return LongStream.range(from, to).boxed().toList();
    }
}
