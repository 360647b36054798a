package org.mmapqueue.spark.write.sink;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.FullException;

/** Tasks of real-time mode push their rows once, whatever is repeated, and refuse rows without an order. */
class RealTimeTaskTest extends StagedRows {
    private static final String QUERY = "0f0e0d0c-0000-0000-0000-000000000001";
    private static final Push SYNC = new Push(Duration.ZERO, true, true);

    private int stages;

    /** A task in a stage of its own. */
    private RealTimeTask begin(long epoch, int partition) {
        return begin(epoch, stages++, partition, PUSH);
    }

    private RealTimeTask begin(long epoch, int stage, int partition, Push push) {
        return begin("run 1", epoch, stage, partition, push);
    }

    private RealTimeTask begin(String run, long epoch, int stage, int partition, Push push) {
        return sink.beginTask(new RealTimeTask.Id(QUERY, run, epoch, stage, partition), push);
    }

    private static void push(RealTimeTask task, int partition, long offset, long ordinal) throws InterruptedException {
        task.push(partition, null, offset, ordinal, (partition + ":" + offset + "." + ordinal).getBytes(UTF_8));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRepeatedTaskAddsWhatIsMissing(boolean isKilled) throws Exception {
        open(0);
        RealTimeTask first = begin(0, 0);
        push(first, 0, 3, 0);
        push(first, 0, 7, 0);
        push(first, 0, 7, 1);
        if (isKilled) {
            reopen();
        }
        RealTimeTask again = begin(0, 0);
        for (long ordinal = 0; ordinal < 3; ordinal++) {
            push(again, 0, 7, ordinal);
        }
        push(again, 0, 9, 0);
        again.commit();
        assertEquals(List.of("0:3.0", "0:7.0", "0:7.1", "0:7.2", "0:9.0"), rows(0));
    }

    @Test
    void partitionsAndSourcesHaveOffsetsOfTheirOwn() throws Exception {
        open(0);
        RealTimeTask task = begin(0, 0);
        push(task, 0, 5, 0);
        push(task, 1, 5, 0);
        task.push(0, "a", 5, 0, "a".getBytes(UTF_8));
        task.push(0, "b", 5, 0, "b".getBytes(UTF_8));
        task.commit();
        assertEquals(List.of("0:5.0", "1:5.0", "a", "b"), rows(0));
        String own = "spark-" + QUERY;
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(root).build())) {
            assertEquals(List.of(own, own + "-0", own + "-0-a", own + "-0-b", own + "-1"), queue.producers());
        }
    }

    @ParameterizedTest
    @CsvSource({"4, 0", "5, 1", "5, 0"})
    void rowsMustRise(long offset, long ordinal) throws Exception {
        open(0);
        RealTimeTask task = begin(0, 0);
        push(task, 0, 5, 1);
        String said = assertThrows(IllegalStateException.class, () -> push(task, 0, offset, ordinal))
                .getMessage();
        assertTrue(
                said.startsWith("a row of task 0 has partition 0, offset " + offset + " and ordinal " + ordinal
                        + ", after a row of offset 5 and ordinal 1 of producer spark-" + QUERY + "-0."),
                said);
        assertEquals(List.of("0:5.1"), rows(0));
    }

    @Test
    void rowsOfALaterBatchMustRise() throws Exception {
        open(0);
        RealTimeTask first = begin(0, 0);
        push(first, 0, 5, 0);
        first.commit();
        RealTimeTask next = begin(1, 0);
        assertThrows(IllegalStateException.class, () -> push(next, 0, 4, 0));
        push(next, 0, 6, 0);
        // The batch is repeated, as after a failure: these rows are known, or not.
        RealTimeTask again = begin(1, 0);
        push(again, 0, 6, 0);
        push(again, 0, 8, 0);
        again.commit();
        assertEquals(List.of("0:5.0", "0:6.0", "0:8.0"), rows(0));
    }

    @Test
    void tasksOfABatchThatShareAPartitionAreRefused() throws Exception {
        open(0);
        RealTimeTask first = begin(0, 3, 0, PUSH);
        RealTimeTask second = begin(0, 3, 1, PUSH);
        push(first, 0, 5, 0);
        push(second, 1, 5, 0);
        String said = assertThrows(IllegalStateException.class, () -> push(second, 0, 6, 0))
                .getMessage();
        assertTrue(said.startsWith("batch 0 has rows of producer spark-" + QUERY + "-0 in task 0 and in task 1"), said);
        // The attempt of a task that failed, and another run of the batch with other tasks.
        push(begin(0, 3, 0, PUSH), 0, 5, 0);
        push(begin(0, 4, 1, PUSH), 0, 6, 0);
        assertEquals(List.of("0:5.0", "1:5.0", "0:6.0"), rows(0));
    }

    /** A new Spark context in the same process counts its stages from 0 again. */
    @Test
    void aRestartedQueryMayHaveItsPartitionsInOtherTasks() throws Exception {
        open(0);
        push(begin("run 1", 0, 0, 0, PUSH), 0, 5, 0);
        RealTimeTask again = begin("run 2", 0, 0, 1, PUSH);
        push(again, 0, 5, 0);
        push(again, 0, 6, 0);
        assertEquals(List.of("0:5.0", "0:6.0"), rows(0));
    }

    @ParameterizedTest
    @CsvSource({
        "-1, a, 0, 0, 'the column partition is -1 in a row of task 0; allowed: 0..2147483647'",
        "0, a, -1, 0, 'the column offset is -1 in a row of task 0; allowed: 0..140737488355327'",
        "0, a, 140737488355328, 0, 'the column offset is 140737488355328'",
        "0, a, 0, 65536, 'the column ordinal is 65536 in a row of task 0; allowed: 0..65535'",
        "0, a/b, 0, 0, 'the column source is \"a/b\" in a row of task 0; allowed: 1 to 46 letters'",
        "0, '', 0, 0, 'the column source is \"\"'",
    })
    void valuesOutOfRange(int partition, String source, long offset, long ordinal, String expected) throws Exception {
        open(0);
        RealTimeTask task = begin(0, 0);
        String said = assertThrows(
                        IllegalArgumentException.class,
                        () -> task.push(partition, source, offset, ordinal, new byte[0]))
                .getMessage();
        assertTrue(said.startsWith(expected), said);
        assertEquals(List.of(), rows(0));
    }

    @Test
    void theLargestNumbersAreStored() throws Exception {
        open(0);
        RealTimeTask task = begin(0, 0);
        String source = "s".repeat(46);
        task.push(Integer.MAX_VALUE, source, (1L << 47) - 1, 65535, "largest".getBytes(UTF_8));
        task.commit();
        reopen();
        RealTimeTask again = begin(0, 0);
        again.push(Integer.MAX_VALUE, source, (1L << 47) - 1, 65535, "again".getBytes(UTF_8));
        assertEquals(List.of("largest"), rows(0));
    }

    @Test
    void aQueueThatHasLostBatchesIsAnError() throws Exception {
        open(0);
        begin(0, 0).commit();
        // Only the first task stores the batch: the others may run longer.
        begin(1, 1).commit();
        begin(1, 0).commit();
        begin(2, 0);
        String said =
                assertThrows(IllegalStateException.class, () -> begin(3, 0)).getMessage();
        assertTrue(said.startsWith("epoch 3 of query " + QUERY + " cannot follow in " + root), said);
        RealTimeTask task = begin(3, stages++, 0, new Push(Duration.ZERO, false, false));
        task.commit();
        begin(4, 0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void rowsAreDurableWhenTheirBatchEndsAndWithSyncBefore(boolean sync) throws Exception {
        Map<String, String> keys = new HashMap<>(SMALL);
        keys.put("flush_period", "600000");
        root = directory.resolve("queue");
        sink = new SinkQueue(root, new SinkConfig(0, keys));
        RealTimeTask task = begin(0, stages++, 0, sync ? SYNC : PUSH);
        push(task, 0, 1, 0);
        assertEquals(sync ? 1 : 0, durable());
        task.commit();
        assertEquals(1, durable());
    }

    private long durable() {
        try (MmapQueue queue = MmapQueue.openToRead(root)) {
            return queue.durableOffset();
        }
    }

    @Test
    void aFullQueueStoresNothing() throws Exception {
        open(0);
        RealTimeTask task = begin(0, 0);
        byte[] large = new byte[3000];
        List<String> pushed = new ArrayList<>();
        assertThrows(FullException.class, () -> {
            for (long offset = 0; ; offset++) {
                task.push(0, null, offset, 0, large);
                pushed.add(new String(large, UTF_8));
            }
        });
        assertEquals(pushed, rows(0));
        assertTrue(pushed.size() > 1);
    }

    @Test
    void severalPartitionsAreRefused() {
        open(2);
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> begin(0, 0));
        assertTrue(
                error.getMessage()
                        .startsWith("option path = " + root + "; allowed: a queue of one partition, as the sink of"
                                + " real-time mode; this one has 2: write to one of them, such as "
                                + root.resolve("p=0")),
                error.getMessage());
    }
}
