package org.mmapqueue.log;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.GuardedLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The damaged ranges that one reader has skipped: counts and logs them, and lists the latest. Thread-safe. */
public final class SkippedDamage {
    private static final Logger LOG = LoggerFactory.getLogger(SkippedDamage.class);
    /** The maximum number of ranges that are listed. */
    private static final int MOST = 1000;

    private final String reader;
    private final GuardedLog untold;
    private final Deque<DamagedRange> ranges = new ArrayDeque<>();
    private long records;

    /**
     * @param reader name of the reader, for log messages
     * @param untold gets them: ranges are skipped under the reader's lock
     */
    public SkippedDamage(String reader, GuardedLog untold) {
        this.reader = reader;
        this.untold = untold;
    }

    /** Notes that the records from {@code first} up to, but not including, {@code next} are skipped. */
    public synchronized void add(CorruptException damage, long first, long next) {
        add(new DamagedRange(first, next - 1, damage.file(), damage.position(), damage.getMessage()));
    }

    /** Notes that the records of a range are skipped. */
    public synchronized void add(DamagedRange range) {
        if (ranges.size() == MOST) {
            ranges.removeFirst();
        }
        ranges.addLast(range);
        records += range.records();
        untold.note(() -> LOG.warn("{} has found damage: {}", reader, range));
    }

    /** The number of records that were skipped. */
    public synchronized long records() {
        return records;
    }

    /** The latest ranges, at most a thousand, in the order in which they were skipped. */
    public synchronized List<DamagedRange> ranges() {
        return List.copyOf(ranges);
    }
}
