package org.mmapqueue.core;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.RangeReader;

/**
 * Reads the records of a range in order: in the ring, and in the archive where the ring has given them up. Retains no
 * record. One thread at a time, except for {@link #close}.
 */
public final class RangeOfLog implements Closeable {
    private static final int MOST_RANGES = 1000;

    private final Log log;
    private final OlderArchive archive;
    private final long to;
    private final boolean skipsDamage;
    private final BooleanSupplier gone;
    private final List<DamagedRange> damage = new ArrayList<>();
    /** One of the two reads, and the other one is null. */
    private volatile @Nullable RangeReader ring;

    private volatile @Nullable OlderReader older;
    /** Counts of readers that were closed. */
    private long damagedRecords;

    private long segments;
    // Guarded by this.
    private boolean closed;
    /** Whether a call reads in the archive: it closes all at its end, if this reader is closed meanwhile. */
    private boolean isReading;

    RangeOfLog(Log log, OlderArchive archive, long from, long to, boolean skipsDamage, BooleanSupplier gone) {
        this.log = log;
        this.archive = archive;
        this.to = to;
        this.skipsDamage = skipsDamage;
        this.gone = gone;
        try {
            this.ring = log.reader(from, to, skipsDamage, gone);
        } catch (OutOfRangeException e) {
            throwUnlessOlder(e);
            enterArchive(from);
        }
    }

    private void throwUnlessOlder(OutOfRangeException e) {
        if (!archive.mayHave(e, log)) {
            throw e;
        }
    }

    /** The offset of the next record; the range's end after the last one. */
    public long offset() {
        OlderReader reading = older;
        return reading == null ? ring.offset() : reading.offset();
    }

    /** The number of segments read so far. */
    public long segments() {
        RangeReader reading = ring;
        return segments + (reading == null ? 0 : reading.segments());
    }

    /** The damaged ranges that were skipped, the latest thousand. */
    public List<DamagedRange> damagedRanges() {
        List<DamagedRange> all = new ArrayList<>(damage);
        OlderReader reading = older;
        all.addAll(reading == null ? ring.damage().ranges() : reading.damagedRanges());
        return List.copyOf(all.subList(Math.max(0, all.size() - MOST_RANGES), all.size()));
    }

    /** The number of records that were skipped because of damage. */
    public long damagedRecords() {
        OlderReader reading = older;
        return damagedRecords + (reading == null ? ring.damage().records() : reading.damagedRecords());
    }

    /**
     * As {@code RecordReader.read}.
     *
     * @param own whether each record is in an array of its own
     */
    public int read(int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        RangeReader inRing = ring;
        if (inRing != null) {
            try {
                return inRing.read(maxRecords, maxBytes, own, handler);
            } catch (OutOfRangeException e) {
                throwUnlessOlder(e);
            }
        }
        synchronized (this) {
            if (closed || gone.getAsBoolean()) {
                throw new ClosedException("the reader, or the handle of the queue that gave it, is closed");
            }
            isReading = true;
        }
        try {
            if (inRing != null) {
                leaveRing(inRing);
            }
            return readOlder(maxRecords, maxBytes, own, handler);
        } finally {
            synchronized (this) {
                isReading = false;
                if (closed) {
                    close();
                }
            }
        }
    }

    // Reads on in the archive, and in the ring if the archive does not have the next record yet.
    private int readOlder(int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        boolean isOpenedAgain = false;
        while (true) {
            OlderReader reading = older;
            int count = reading.read(to, maxRecords, maxBytes, own, handler);
            if (count > 0 || reading.offset() >= to) {
                return count;
            }
            if (reading.offset() < log.firstKnownOffset()) { // the ring has given it up since, or the archive is away
                if (isOpenedAgain) {
                    throw reading.unavailable("does not have it at present", null);
                }
                isOpenedAgain = true;
                reading.close();
                continue;
            }
            try {
                return enterRing(reading).read(maxRecords, maxBytes, own, handler);
            } catch (OutOfRangeException e) {
                throwUnlessOlder(e);
                if (older == null) {
                    leaveRing(ring);
                }
            }
        }
    }

    private void leaveRing(RangeReader left) {
        damage.addAll(left.damage().ranges());
        damagedRecords += left.damage().records();
        segments += left.segments();
        enterArchive(left.offset());
        ring = null;
        left.close();
    }

    private void enterArchive(long offset) {
        OlderReader entered = archive.reader(skipsDamage);
        entered.seek(offset);
        older = entered;
    }

    private RangeReader enterRing(OlderReader left) {
        RangeReader entered = log.reader(left.offset(), to, skipsDamage, gone);
        damage.addAll(left.damagedRanges());
        damagedRecords += left.damagedRecords();
        ring = entered;
        older = null;
        left.close();
        return entered;
    }

    /**
     * Waits for the running call on the ring; one on the archive goes on, and closes what it reads. Later calls throw
     * ClosedException. Idempotent.
     */
    @Override
    public synchronized void close() {
        closed = true;
        if (isReading) {
            return;
        }
        RangeReader inRing = ring;
        if (inRing != null) {
            inRing.close();
        }
        OlderReader inArchive = older;
        if (inArchive != null) {
            inArchive.close();
        }
    }
}
