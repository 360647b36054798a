package org.mmapqueue.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** What the metrics of a queue say about the calls before. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MetricsTest {
    private static final String DEFAULT = "default";

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue queue;

    private QueueConfig.Builder config(String name) {
        return QueueConfig.builder(temp.resolve(name))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(8)
                .maxEventSize(3000)
                .flushPeriod(Duration.ofMinutes(10));
    }

    private void open(QueueConfig.Builder config) {
        queue = MmapQueue.open(config.build());
    }

    @AfterEach
    void close() {
        if (queue != null) {
            queue.close();
        }
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            queue.push(new byte[100]);
        }
    }

    private void fill() {
        assertThrows(FullException.class, () -> push(10_000));
    }

    private double of(Metric metric, String label) {
        return of(queue, metric, "", label);
    }

    private double of(Metric metric) {
        return of(metric, "");
    }

    private static double of(MmapQueue queue, Metric metric, String suffix, String label) {
        return of(queue.metrics(), metric, suffix, label);
    }

    private static double of(List<Sample> samples, Metric metric, String suffix, String label) {
        List<Sample> found = samples.stream()
                .filter(each -> each.metric() == metric
                        && each.suffix().equals(suffix)
                        && each.labelValue().equals(label))
                .toList();
        assertEquals(1, found.size(), () -> metric + " " + label);
        return found.get(0).value();
    }

    private static Set<Metric> known(MmapQueue queue) {
        return queue.metrics().stream().map(Sample::metric).collect(Collectors.toSet());
    }

    @Test
    void pushesPopsAndAcks() throws InterruptedException {
        open(config("queue"));
        long before = queue.stats().writingPosition();
        push(10);
        List<Message> popped = queue.consumer().popBatch(6, 1 << 20, Duration.ZERO);
        queue.consumer().ackUpTo(popped.get(3).offset());
        assertEquals(10, of(Metric.PUSHED_RECORDS));
        assertEquals(queue.stats().writingPosition() - before, of(Metric.PUSHED_BYTES));
        assertEquals(10, of(Metric.RETAINED_RECORDS) + queue.firstOffset());
        assertEquals(1, of(Metric.CONSUMERS));
        assertEquals(6, of(Metric.POPPED_RECORDS, DEFAULT));
        assertEquals(4, of(Metric.ACKED_RECORDS, DEFAULT));
        assertEquals(2, of(Metric.IN_FLIGHT_RECORDS, DEFAULT));
        assertEquals(6, of(Metric.LAG_RECORDS, DEFAULT));
        // The clock of the records has milliseconds, and may be set back.
        Waiting.until("the oldest record has an age", () -> of(Metric.OLDEST_UNACKED_AGE, DEFAULT) > 0);
        double perRecord = of(Metric.PUSHED_BYTES) / 10;
        assertEquals(6 * perRecord, of(Metric.POPPED_BYTES, DEFAULT), perRecord);
        assertEquals(4 * perRecord, of(Metric.ACKED_BYTES, DEFAULT), perRecord);
        assertEquals(6 * perRecord, of(Metric.LAG_BYTES, DEFAULT), perRecord);
        assertEquals(16 * 4096, of(Metric.CAPACITY_BYTES));
        assertEquals(of(Metric.USED_BYTES) / of(Metric.CAPACITY_BYTES), of(Metric.FILL));
        assertTrue(of(Metric.MAPPED_BYTES) >= 4096);
        assertEquals(0, of(Metric.REDELIVERED_RECORDS, DEFAULT) + of(Metric.DEAD_LETTERED_RECORDS, DEFAULT));
        assertEquals(0, of(Metric.DROPPED_RECORDS, DEFAULT) + of(Metric.DAMAGED_RECORDS, DEFAULT));
    }

    @Test
    void countersBeginAtTheOpen() throws InterruptedException {
        open(config("queue"));
        push(10);
        queue.consumer()
                .ackUpTo(queue.consumer()
                        .popBatch(5, 1 << 20, Duration.ZERO)
                        .get(4)
                        .offset());
        queue.close();
        open(config("queue"));
        push(2);
        queue.consumer().ackUpTo(queue.consumer().pop(Duration.ZERO).offset());
        assertEquals(2, of(Metric.PUSHED_RECORDS));
        assertEquals(1, of(Metric.POPPED_RECORDS, DEFAULT));
        assertEquals(1, of(Metric.ACKED_RECORDS, DEFAULT));
        assertEquals(6, of(Metric.LAG_RECORDS, DEFAULT));
    }

    @Test
    void aSeekBackCountsNothing() throws InterruptedException {
        open(config("queue"));
        queue.createConsumer("audit", StartAt.EARLIEST); // retains what the other one has acked
        push(10);
        Consumer consumer = queue.consumer();
        consumer.ackUpTo(consumer.popBatch(10, 1 << 20, Duration.ZERO).get(9).offset());
        assertEquals(10, of(Metric.ACKED_RECORDS, DEFAULT));
        consumer.seek(StartAt.offset(4));
        assertEquals(10, of(Metric.ACKED_RECORDS, DEFAULT));
        consumer.ackUpTo(consumer.popBatch(3, 1 << 20, Duration.ZERO).get(2).offset());
        assertEquals(13, of(Metric.ACKED_RECORDS, DEFAULT));
        assertEquals(13, of(Metric.POPPED_RECORDS, DEFAULT));
    }

    @Test
    void redeliveriesAndDeadLetters() throws InterruptedException {
        open(config("queue").maxAttempts(2).deadLetterDir(temp.resolve("dead")));
        push(3);
        Consumer consumer = queue.consumer();
        consumer.nack(consumer.pop(Duration.ZERO).offset(), Duration.ZERO);
        assertEquals(0, of(Metric.REDELIVERED_RECORDS, DEFAULT));
        long again = consumer.pop(Duration.ZERO).offset();
        assertEquals(1, of(Metric.REDELIVERED_RECORDS, DEFAULT));
        assertEquals(100, of(Metric.REDELIVERED_BYTES, DEFAULT));
        consumer.nack(again, Duration.ZERO);
        assertEquals(1, of(Metric.DEAD_LETTERED_RECORDS, DEFAULT));
        assertEquals(100, of(Metric.DEAD_LETTERED_BYTES, DEFAULT));
        // A released record counts as not popped.
        long released = consumer.pop(Duration.ZERO).offset();
        consumer.release(new long[] {released});
        assertEquals(released, consumer.pop(Duration.ZERO).offset());
        assertEquals(1, of(Metric.REDELIVERED_RECORDS, DEFAULT));
        queue.close();
        open(config("queue").maxAttempts(2).deadLetterDir(temp.resolve("dead")));
        assertEquals(released, queue.consumer().pop(Duration.ZERO).offset());
        assertEquals(1, of(Metric.REDELIVERED_RECORDS, DEFAULT));
    }

    @Test
    void droppedRecords() {
        open(config("queue").maxConsumerLag(8 * 4096));
        queue.createConsumer("slow", StartAt.EARLIEST);
        push(800);
        // The background thread drops, too: between two looks, or between the drop and its count.
        Waiting.until("the dropped records and the lag are all that was pushed", () -> {
            List<Sample> now = queue.metrics();
            double dropped = of(now, Metric.DROPPED_RECORDS, "", "slow");
            double expectedBytes = dropped * (of(now, Metric.PUSHED_BYTES, "", "") / 800);
            return dropped > 100
                    && dropped + of(now, Metric.LAG_RECORDS, "", "slow") == 800
                    && Math.abs(of(now, Metric.DROPPED_BYTES, "", "slow") - expectedBytes) <= 4096;
        });
    }

    @Test
    void waitsForRoom() throws Exception {
        open(config("queue"));
        queue.createConsumer(DEFAULT, StartAt.EARLIEST);
        fill();
        assertEquals(0, of(Metric.ROOM_WAITS) + of(Metric.ROOM_WAIT_SECONDS));
        assertThrows(FullException.class, () -> queue.push(new byte[100], Duration.ofMillis(1)));
        double failed = of(Metric.ROOM_WAIT_SECONDS);
        assertEquals(0, of(Metric.ROOM_WAITS));
        assertTrue(failed > 0);
        Waiting.Running<Long> push =
                Waiting.start(() -> queue.push(new byte[100], Waiting.LONG)).untilItWaits();
        queue.purge();
        push.result();
        assertEquals(1, of(Metric.ROOM_WAITS));
        assertTrue(of(Metric.ROOM_WAIT_SECONDS) > failed);
        assertTrue(of(Metric.FILL) < 0.2);
    }

    @Test
    void fsyncs() {
        open(config("queue"));
        push(10);
        assertTrue(of(Metric.UNSYNCED_BYTES) > 1000);
        double before = of(queue, Metric.FSYNC_SECONDS, "_count", "");
        queue.flush();
        assertEquals(0, of(Metric.UNSYNCED_BYTES));
        double after = of(queue, Metric.FSYNC_SECONDS, "_count", "");
        assertTrue(after > before);
        assertTrue(of(queue, Metric.FSYNC_SECONDS, "_sum", "") > 0);
        assertEquals(after, of(queue, Metric.FSYNC_SECONDS, "_bucket", "+Inf"));
        assertTrue(of(queue, Metric.FSYNC_SECONDS, "_bucket", "0.0001")
                <= of(queue, Metric.FSYNC_SECONDS, "_bucket", "0.0003"));
    }

    @Test
    void recovery() {
        open(config("queue"));
        push(2);
        queue.flush();
        long whole = queue.stats().writingPosition();
        push(3);
        long end = queue.stats().writingPosition();
        assertEquals(0, of(Metric.RECOVERIES) + of(Metric.RECOVERY_SECONDS) + of(Metric.RECOVERY_TRUNCATED_BYTES));
        Path left = Directories.copy(queue.config().queueDir(), temp.resolve("left"));
        queue.close();
        Directories.overwrite(left.resolve("0_segment.dat"), (int) whole, new byte[(int) (end - whole)]);
        open(config("left"));
        assertEquals(2, queue.endOffset());
        assertEquals(1, of(Metric.RECOVERIES));
        assertTrue(of(Metric.RECOVERY_SECONDS) > 0);
        assertEquals(end - whole, of(Metric.RECOVERY_TRUNCATED_BYTES));
        assertEquals(0, of(Metric.PUSHED_RECORDS) + of(Metric.PUSHED_BYTES));
        queue.close();
        open(config("left"));
        assertEquals(1, of(Metric.RECOVERIES));
        assertEquals(0, of(Metric.RECOVERY_SECONDS) + of(Metric.RECOVERY_TRUNCATED_BYTES));
    }

    @Test
    void aReaderKnowsWhatIsNeitherTheWritersNorTheOwnersAlone() {
        open(config("queue"));
        queue.createConsumer("audit", StartAt.EARLIEST);
        push(4);
        Set<Metric> all = Set.of(Metric.values());
        Set<Metric> ofOwner =
                Arrays.stream(Metric.values()).filter(Metric::isOwnersAlone).collect(Collectors.toSet());
        assertEquals(all.size(), known(queue).size() + ofOwner.size());
        try (MmapQueue reader = MmapQueue.openToRead(temp.resolve("queue"))) {
            assertEquals(known(queue), known(reader), "this process has it open");
        }
        Path copy = Directories.copy(queue.config().queueDir(), temp.resolve("copy"));
        try (MmapQueue reader =
                MmapQueue.open(QueueConfig.builder(copy).readOnly(true).build())) {
            assertEquals(
                    Arrays.stream(Metric.values())
                            .filter(each -> !each.isWritersAlone() && !each.isOwnersAlone())
                            .collect(Collectors.toSet()),
                    known(reader));
            assertEquals(0, of(reader, Metric.PUSHED_RECORDS, "", ""));
            try (MmapQueue writer = MmapQueue.open(config("copy").build())) {
                writer.push(new byte[100]);
                assertEquals(1, of(reader, Metric.PUSHED_RECORDS, "", ""));
                assertEquals(5, of(reader, Metric.LAG_RECORDS, "", "audit"));
                Consumer audit = writer.consumer("audit", StartAt.EARLIEST);
                audit.ackUpTo(audit.poll().offset());
                audit.poll();
                assertEquals(1, of(reader, Metric.ACKED_RECORDS, "", "audit"));
                assertEquals(2, of(reader, Metric.POPPED_RECORDS, "", "audit"));
                assertEquals(1, of(reader, Metric.IN_FLIGHT_RECORDS, "", "audit"));
                assertEquals(all, known(writer));
            }
        }
        queue.close();
        assertThrows(ClosedException.class, () -> queue.metrics());
    }

    @Test
    void theTextNamesEachMetricOnce() {
        open(config("a \"quoted\" \\ queue"));
        queue.createConsumer("audit", StartAt.EARLIEST);
        queue.createConsumer("zeta", StartAt.EARLIEST);
        push(1);
        String text = PrometheusText.of(queue.config().queueDir(), queue.metrics());
        String label = "{queue=\"" + temp + "/a \\\"quoted\\\" \\\\ queue\"";
        List<String> lines = text.lines().toList();
        assertTrue(lines.contains("# TYPE mmapqueue_pushed_records_total counter"), text);
        assertTrue(lines.contains("mmapqueue_pushed_records_total" + label + "} 1"), text);
        assertTrue(lines.contains("# TYPE mmapqueue_fsync_seconds histogram"), text);
        assertTrue(lines.contains("mmapqueue_fsync_seconds_bucket" + label + ",le=\"0.0003\"} 0"), text);
        assertTrue(lines.contains("mmapqueue_lag_records" + label + ",consumer=\"zeta\"} 1"), text);
        assertTrue(text.endsWith("\n"));
        List<String> types =
                lines.stream().filter(each -> each.startsWith("# TYPE")).toList();
        assertEquals(types.stream().distinct().toList(), types);
        assertEquals(lines.stream().distinct().toList(), lines);
        assertFalse(text.contains("redelivered"), "no consumer is owned");
    }

    @Test
    void namesFollowPrometheus() {
        for (Metric metric : Metric.values()) {
            assertTrue(metric.fullName().matches("mmapqueue_[a-z]+(_[a-z]+)*"), metric.fullName());
            assertEquals(
                    metric.kind() == Metric.Kind.COUNTER, metric.shortName().endsWith("_total"), metric.fullName());
            String unit = metric.unit().name().toLowerCase(java.util.Locale.ROOT);
            assertTrue(
                    metric.unit() == Metric.Unit.COUNT
                            || metric.shortName().replace("_total", "").endsWith("_" + unit),
                    metric.fullName());
            assertTrue(metric.help().matches("[A-Z][^\\n\\\\]+\\."), metric.help());
        }
    }
}
