package org.mmapqueue.damage;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/** Small queues of all kinds, each as a directory with its expected contents. */
public enum Shape {
    /** Closed; some records acked. */
    CLEAN,
    /** As a killed process leaves it; the last records have not been flushed. */
    KILLED,
    /** Closed after two generations of the ring. */
    LAPPED,
    /** Closed; records go through several segments each. */
    SPANNING,
    /** As a killed process leaves it; records were pushed in atomic batches. */
    BATCHES,
    /** Closed; no record has a timestamp, some have no bytes. */
    PLAIN,
    /** Closed; consumers with records in flight, acked out of order. */
    CONSUMERS,
    /** Closed after two recoveries: there are pads, and segments of three epochs. */
    RECOVERED;

    public static final int SEGMENT = 4096;
    public static final int CAPACITY = 8;
    public static final int RECORDS = 40;
    static final int MAX_EVENT = 9000;
    private static final int OLDER_AT = 8;

    /**
     * A queue that was made.
     *
     * @param payloads of all records that were pushed, by offset
     * @param first the offset of the first record that is retained
     * @param committed the committed offset of each consumer
     */
    public record Made(Path path, List<byte[]> payloads, long first, Map<String, Long> committed) {
        public static QueueConfig config(Path at, boolean timestamps) {
            return QueueConfig.builder(at)
                    .segmentSize(SEGMENT)
                    .queueCapacitySegments(CAPACITY)
                    .maxInMemSegments(7)
                    .maxEventSize(MAX_EVENT)
                    .timestamps(timestamps)
                    .flushPeriod(Duration.ofMinutes(10))
                    .build();
        }
    }

    private static final class Making {
        final Path open;
        final List<byte[]> payloads = new ArrayList<>();
        MmapQueue queue;
        Path older;

        Making(Path open, boolean timestamps) {
            this.open = open;
            this.queue = MmapQueue.open(Made.config(open, timestamps));
        }

        byte[] next(int length) {
            byte[] payload = Payload.of(payloads.size(), length);
            payloads.add(payload);
            if (older != null && payloads.size() == OLDER_AT) {
                Directories.copy(open, older);
            }
            return payload;
        }

        void push(int length) {
            queue.push(next(length));
        }

        /** Leaves the directory as a kill does. */
        void killTo(Path at) {
            Directories.copyOpen(open, at, SEGMENT);
            queue.close();
        }

        /** Pops and acks all but the last {@code keep}. */
        void ackAllBut(Consumer consumer, int keep) {
            long last = payloads.size() - 1L - keep;
            while (consumer.readOffset() <= last) {
                consumer.poll();
            }
            consumer.ackUpTo(last);
        }
    }

    /** Makes the queue in {@code at}; {@code aside} is a working directory. */
    public Made make(Path at, Path aside) {
        return make(at, aside, null);
    }

    /** Makes the queue, and in {@code older} a copy of an earlier state, not closed; null for none. */
    public Made make(Path at, Path aside, Path older) {
        boolean killed = this == KILLED || this == BATCHES;
        Making making = new Making(killed ? aside : at, this != PLAIN);
        making.older = older;
        Map<String, Long> committed = new TreeMap<>();
        switch (this) {
            case CLEAN, KILLED, PLAIN -> some(making);
            case LAPPED -> lapped(making);
            case SPANNING -> spanning(making);
            case BATCHES -> batches(making);
            case CONSUMERS -> consumers(making);
            case RECOVERED -> recovered(making, aside);
        }
        for (ConsumerStats each : making.queue.consumerStats()) {
            committed.put(each.name(), each.committedOffset());
        }
        long first = making.queue.firstOffset();
        if (killed) {
            making.killTo(at);
        } else {
            making.queue.close();
        }
        return new Made(at, List.copyOf(making.payloads), first, committed);
    }

    private void some(Making making) {
        making.queue.createConsumer("named", StartAt.EARLIEST);
        for (int i = 0; i < RECORDS; i++) {
            if (i == RECORDS - 8) {
                making.ackAllBut(making.queue.consumer(), i - 3);
                making.queue.flush();
            }
            making.push(i == 12 ? 5000 : i % 7 == 0 ? 0 : i * 37 % 300);
        }
    }

    private static void lapped(Making making) {
        for (int i = 0; i < 8 * RECORDS; i++) {
            making.push(i * 53 % 400);
            if (i % 10 == 9) {
                making.ackAllBut(making.queue.consumer(), 9);
                making.queue.flush();
            }
        }
    }

    private static void spanning(Making making) {
        for (int length : new int[] {10, MAX_EVENT, 4032, 3976, 4016, 100, 5000, 0, 20}) {
            making.push(length);
        }
    }

    private static void batches(Making making) {
        for (int i = 0; i < 10; i++) {
            List<byte[]> batch = new ArrayList<>();
            for (int j = 0; j <= i % 5; j++) {
                batch.add(making.next(i * 61 % 500));
            }
            making.queue.pushBatch(batch);
            if (i == 4) {
                making.queue.flush();
            }
        }
    }

    private static void consumers(Making making) {
        making.queue.createConsumer("a", StartAt.EARLIEST);
        making.queue.createConsumer("b", StartAt.EARLIEST);
        for (int i = 0; i < RECORDS; i++) {
            making.push(i * 41 % 500);
        }
        Consumer a = making.queue.consumer("a", StartAt.EARLIEST);
        Consumer b = making.queue.consumer("b", StartAt.EARLIEST);
        for (int i = 0; i < 20; i++) {
            a.poll();
            b.poll();
            making.queue.consumer().pop();
        }
        a.ackUpTo(4);
        a.ack(new long[] {7, 9, 15});
        b.ack(new long[] {1, 2, 3});
        making.queue.consumer().ackUpTo(9);
    }

    private static void recovered(Making making, Path aside) {
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 12; i++) {
                making.push(i * 71 % 600);
            }
            if (round < 2) {
                Path killed = aside.resolveSibling(aside.getFileName() + "-" + round);
                making.killTo(killed);
                Directories.delete(making.open);
                Directories.copy(killed, making.open);
                Directories.delete(killed);
                making.queue = MmapQueue.open(Made.config(making.open, true));
            }
        }
    }
}
