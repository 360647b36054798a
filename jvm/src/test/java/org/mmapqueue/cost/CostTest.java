package org.mmapqueue.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The cost of a push and a pop of 100 bytes: bytecode instructions and calls of the JDK, counted in code that a class
 * loader has instrumented, so no clock is needed. All records are in one segment. A change that saves instructions
 * lowers the bounds. A push reads the clock more often on a busy machine, so the least of some counts is compared.
 */
class CostTest {
    private static final String LOCKS = "monitor\\.enter|.*Lock\\.(lock|tryLock|lockInterruptibly)|.*LockSupport\\..*";
    private static final String CLOCKS = "java/lang/System\\.(currentTimeMillis|nanoTime)";
    private static final String ATOMIC_UPDATES = ".*\\.(compareAndSet|weakCompareAndSet.*|getAnd.*|.*AndGet)";
    private static final String COPIES = "java/nio/ByteBuffer\\.(get|put)";
    private static final String CHECKSUMS = "java/util/zip/CRC32C\\.getValue";
    private static final String FILES = "java/nio/(channels|file)/.*";

    @TempDir
    Path directory;

    private Map<String, Runnable> works;

    @SuppressWarnings("unchecked")
    @BeforeEach
    void open() throws ReflectiveOperationException {
        Object work = new CountingLoader()
                .loadClass(Work.class.getName())
                .getDeclaredConstructor()
                .newInstance();
        works = ((Function<Path, Map<String, Runnable>>) work).apply(directory.resolve("queue"));
        // Warms up: everything that runs only once has run.
        for (String name : List.of("push", "poll", "pushBatch", "popBatch", "push", "poll", "pushBatch", "popBatch")) {
            works.get(name).run();
        }
        works.get("ack").run();
    }

    @AfterEach
    void close() {
        works.get("close").run();
    }

    private Counter.Counts count(String work) {
        Counter.Counts counts = Counter.count(works.get(work));
        assertEquals(0, counts.of(LOCKS), () -> "locks: " + counts);
        assertEquals(0, counts.of(FILES), () -> "files: " + counts);
        assertEquals(Work.COUNT, counts.of(COPIES), () -> "copies: " + counts);
        assertEquals(Work.COUNT, counts.of(CHECKSUMS), () -> "checksums: " + counts);
        return counts;
    }

    private Counter.Counts least(String work) {
        return Stream.generate(() -> count(work))
                .limit(5)
                .min(Comparator.comparingLong(Counter.Counts::instructions))
                .orElseThrow();
    }

    private static void assertAtMost(long bound, long found, String what) {
        assertTrue(found <= bound, () -> found + " " + what + " for " + Work.COUNT + " records, the bound is " + bound);
    }

    @Test
    void theCounterSeesLocksAndClocks() {
        works.get("push").run();
        works.get("poll").run(); // unacked records can be read
        assertTrue(Counter.count(works.get("get")).of(LOCKS) > 0);
        works.get("pushBatch").run();
        assertTrue(Counter.count(works.get("popBatch")).of(CLOCKS) > 0);
    }

    @Test
    void aPush() {
        Counter.Counts counts = least("push");
        assertAtMost(500_000, counts.instructions(), "instructions");
        assertAtMost(Work.COUNT, counts.of(CLOCKS), "clock readings");
        assertAtMost(Work.COUNT, counts.of(ATOMIC_UPDATES), "atomic updates");
    }

    @Test
    void aPushOfABatch() {
        Counter.Counts counts = least("pushBatch");
        assertAtMost(405_000, counts.instructions(), "instructions");
        assertAtMost(Work.COUNT, counts.of(CLOCKS), "clock readings");
        assertAtMost(Work.COUNT / Work.BATCH, counts.of(ATOMIC_UPDATES), "atomic updates");
    }

    @Test
    void aPop() {
        works.get("push").run();
        Counter.Counts counts = count("poll");
        assertAtMost(882_000, counts.instructions(), "instructions");
        assertAtMost(0, counts.of(CLOCKS), "clock readings");
        assertAtMost(Work.COUNT, counts.of(ATOMIC_UPDATES), "atomic updates");
    }

    @Test
    void aPopOfABatch() {
        works.get("push").run();
        Counter.Counts counts = count("popBatch");
        assertAtMost(730_000, counts.instructions(), "instructions");
        assertAtMost(Work.COUNT / Work.BATCH, counts.of(CLOCKS), "clock readings");
        // Records of 100 bytes: two rounds of 8 KiB for each batch.
        assertAtMost(2 * Work.COUNT / Work.BATCH, counts.of(ATOMIC_UPDATES), "atomic updates");
    }

    @Test
    void anAckOfAThousandRecords() {
        works.get("push").run();
        works.get("poll").run();
        Counter.Counts counts = Counter.count(works.get("ack"));
        assertEquals(0, counts.of(LOCKS), counts::toString);
        assertAtMost(1000, counts.instructions(), "instructions");
    }
}
