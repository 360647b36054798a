package org.mmapqueue.spark.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.MemoryFiles;
import org.mmapqueue.support.StoredLog;

/** Planning by the names of runs, compared with the records of the log. */
class ArchivedPartitionTest {
    private static final ArchiveLocation ARCHIVE =
            new ArchiveLocation(URI.create("memory:/archive"), "memory:/archive");

    private final MemoryFiles files = new MemoryFiles();

    private List<ArchivedPartition> partitions(ArchiveFiles from) throws IOException {
        return new ArchiveView(ARCHIVE, Archive.open(from)).partitions();
    }

    private interface Check {
        void of(StoredLog log, ArchivedPartition partition, Random random) throws IOException;
    }

    private void forRandomLogs(Check check) throws IOException {
        for (int seed = 0; seed < 40; seed++) {
            Random random = new Random(seed);
            files.names().forEach(files::delete);
            StoredLog log = StoredLog.random(random, 300, 200, seed * 50L);
            Archive.create(files).register(log.queue, 0, "here");
            ArchiveRuns.publishAll(files, log, 1 + random.nextInt(60), random, ArchiveCodec.NONE);
            check.of(log, partitions(files).get(0), random);
        }
    }

    private static LongSummaryStatistics times(StoredLog log, long from, long to) {
        return log.records(from, to).stream()
                .mapToLong(StoredRecord::timestampMicros)
                .filter(each -> each > 0)
                .summaryStatistics();
    }

    @Test
    void theTimesOfARangeAreThoseOfItsRecordsOrUnknown() throws IOException {
        int[] known = new int[1];
        forRandomLogs((log, partition, random) -> {
            for (int i = 0; i < 50; i++) {
                long from = log.first() + random.nextInt(300);
                long to = from + 1 + random.nextInt((int) (log.end() - from));
                LongSummaryStatistics times = times(log, from, to);
                long min = partition.minTimestampMicros(from, to);
                long max = partition.maxTimestampMicros(from, to);
                assertTrue(min == 0 || min == times.getMin(), "least of " + from + ".." + to);
                assertTrue(max == 0 || max == times.getMax(), "greatest of " + from + ".." + to);
                if (log.record(from).timestampMicros() > 0) {
                    assertEquals(times.getMin(), min);
                }
                if (log.record(to - 1).timestampMicros() > 0) {
                    assertEquals(times.getMax(), max);
                }
                known[0] += min > 0 && max > 0 ? 1 : 0;
            }
        });
        assertTrue(known[0] > 500, "known: " + known[0]);
    }

    /** Of archives whose files nobody can read. */
    @Test
    void aBacklogIsEstimatedFromNames() throws IOException {
        int[] timed = new int[1];
        forRandomLogs((log, partition, random) -> {
            ArchivedPartition named = partitions(withoutRecords()).get(0);
            for (int i = 0; i < 50; i++) {
                long from = log.first() + random.nextInt(300);
                LongSummaryStatistics times = times(log, from, log.end());
                ReadablePartition.Unread unread = named.unread(from, log.end());
                assertEquals(partition.estimatedBytes(from, log.end()), unread.bytes());
                if (times.getCount() == 0) {
                    continue;
                }
                // Never older than the run that has the first record, and never newer than the last record.
                long oldest =
                        times(log, Math.max(log.first(), from - 60), log.end()).getMin();
                assertTrue(
                        oldest <= unread.firstMicros() && unread.firstMicros() <= times.getMax(),
                        () -> unread + " for " + times);
                timed[0]++;
            }
        });
        assertTrue(timed[0] > 500, "timed: " + timed[0]);
    }

    private ArchiveFiles withoutRecords() {
        return (ArchiveFiles) Proxy.newProxyInstance(
                ArchiveFiles.class.getClassLoader(),
                new Class<?>[] {ArchiveFiles.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("open") && ((String) arguments[0]).endsWith(".run")) {
                        throw new IOException("no run may be opened: " + arguments[0]);
                    }
                    try {
                        return method.invoke(files, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void aRangeOfTimesHasAllTheirRecords() throws IOException {
        forRandomLogs((log, partition, random) -> {
            LongSummaryStatistics all = times(log, log.first(), log.end());
            if (all.getCount() == 0) {
                assertThrows(ConfigException.class, () -> partition.rangeOf(1, 2, false));
                assertThrows(ConfigException.class, () -> partition.rangeOf(1, 2, true));
                return;
            }
            for (int i = 0; i < 50; i++) {
                long low = all.getMin() - 2000 + random.nextLong(all.getMax() - all.getMin() + 4000);
                long high = i % 5 == 0 ? Long.MAX_VALUE : low + random.nextLong(100_000);
                long[] names = partition.rangeOf(low, high, false);
                long[] exact = partition.rangeOf(low, high, true);
                for (StoredRecord each : log.records(log.first(), log.end())) {
                    long micros = each.timestampMicros();
                    if (micros > 0) {
                        boolean matches = low <= micros && micros <= high;
                        assertEquals(matches, isIn(exact, each));
                        assertTrue(!matches || isIn(names, each), () -> each + " is not in the runs");
                    }
                }
            }
        });
    }

    private static boolean isIn(long[] range, StoredRecord record) {
        return range[0] <= record.offset() && record.offset() < range[1];
    }

    private interface Listing {
        void begins() throws Exception;
    }

    private ArchiveFiles withListing(Listing listing) {
        return (ArchiveFiles) Proxy.newProxyInstance(
                ArchiveFiles.class.getClassLoader(),
                new Class<?>[] {ArchiveFiles.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("directories")) {
                        listing.begins();
                    }
                    try {
                        return method.invoke(files, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Spark looks for it among the causes of an UncheckedIOException. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 30})
    void anInterruptedListingIsTheEndOfAStoppedQuery(int count) throws IOException {
        Archive archive = Archive.create(files);
        for (int i = 0; i < count; i++) {
            archive.register(new UUID(1, i), i, "here");
        }
        Thread query = Thread.currentThread();
        AtomicBoolean isInterrupted = new AtomicBoolean();
        List<ArchivedPartition> partitions = partitions(withListing(() -> {
            // Once: another listing could interrupt the thread after the query has ended.
            if (isInterrupted.compareAndSet(false, true)) {
                query.interrupt();
            }
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                throw new InterruptedIOException("interrupted");
            }
        }));
        UncheckedIOException e = assertThrows(UncheckedIOException.class, () -> ArchivedPartition.list(partitions));
        assertInstanceOf(InterruptedIOException.class, e.getCause());
        assertEquals(count > 1, Thread.interrupted());
    }

    @Test
    void severalPartitionsAreListedAtOnce() throws IOException {
        Archive archive = Archive.create(files);
        for (int i = 0; i < 4; i++) {
            archive.register(new UUID(1, i), i, "here");
        }
        CountDownLatch all = new CountDownLatch(4);
        List<ArchivedPartition> partitions = partitions(withListing(() -> {
            all.countDown();
            assertTrue(all.await(60, TimeUnit.SECONDS), "the others are not listed");
        }));
        ArchivedPartition.list(partitions);
        assertEquals(0, all.getCount());
        partitions.forEach(each -> assertEquals(0, each.endOffset()));
    }

    @Test
    void aPartitionIsListedWhenItIsUsed() throws IOException {
        StoredLog log = StoredLog.random(new Random(1), 10, 10, 0);
        PartitionEntry entry = Archive.create(files).register(log.queue, 0, "here");
        ArchivedPartition partition = partitions(files).get(0);
        ArchiveRuns.publish(files, log, 0, 5, ArchiveCodec.NONE);
        assertEquals(5, partition.endOffset());
        ArchiveRuns.publish(files, log, 5, 10, ArchiveCodec.NONE);
        assertEquals(5, partition.endOffset());
        ArchivedPartition.list(new ArrayList<>(List.of(partition)));
        assertEquals(10, partition.endOffset());
        assertEquals(entry.queue(), partition.queueId());
    }
}
