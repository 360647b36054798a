package org.mmapqueue.lookup;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.mmapqueue.StartAt;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.LogReaderV1;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.PublishedEnd;
import org.mmapqueue.log.TruncatedFiles;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The records of an open queue, as its readers see them. Safe for any number of threads. */
public final class Log implements RandomAccessReader.Source, Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(Log.class);

    private final Settings settings;
    private final Geometry geometry;
    private final MetaPage meta;
    private final Swapper swapper;
    private final LongSupplier published;
    private final LogStart retained;
    private final RandomAccessReader randomAccess;
    private final Set<Closeable> readers = ConcurrentHashMap.newKeySet();
    /** In version 1: the offset at which the consumer was last closed. */
    private volatile long version1Offset;

    public Log(OpenFiles files) {
        this.settings = files.settings();
        this.geometry = settings.geometry();
        this.meta = files.meta();
        this.swapper = files.swapper();
        this.published = geometry.format() == Format.V1
                ? meta::writing // version 1 stores no reclaimed position; its recovery has checked the log end
                : new PublishedEnd(swapper.ring().directory(), meta, geometry);
        this.retained = new LogStart(geometry, meta, swapper, files.registry(), InstantSource.system());
        this.randomAccess =
                geometry.format().hasSegmentHeaders() ? new RandomAccessReader((LogReaderV2) reader(), this) : null;
    }

    /** A new reader, for one thread at a time. */
    public LogReader reader() {
        return geometry.format() == Format.V1
                ? new LogReaderV1(swapper, geometry, settings.maxEventSize(), published)
                : new LogReaderV2(swapper, geometry, readableFields(), published);
    }

    /** A new reader of a range; {@code gone} returns true once the handle that returned the reader is closed. */
    public RangeReader reader(long from, long to, boolean skipsDamage, BooleanSupplier gone) {
        RandomAccessReader numbers = randomAccess(); // throws in version 1
        RangeReader reader = new RangeReader(
                (LogReaderV2) reader(), numbers, skipsDamage ? damageSkip() : null, gone, readers::remove, from, to);
        readers.add(reader);
        return reader;
    }

    /** A new reader of records in their stored form. */
    public StoredReader storedReader() {
        StoredReader reader = new StoredReader((LogReaderV2) reader(), randomAccess(), readers::remove);
        readers.add(reader);
        return reader;
    }

    /** A new search for records after damage, for one thread at a time. Not in version 1. */
    public DamageSkip damageSkip() {
        return new DamageSkip((LogReaderV2) reader(), published);
    }

    // The fixed facts as readers use them. A later writer may have a larger max_event_size, so in other processes the
    // ring is the only bound of a record's length.
    private MetaFields readableFields() {
        MetaFields fields = meta.fields();
        long ring = (long) geometry.capacity() * geometry.dataBytes();
        return settings.readOnly()
                ? fields.withSettings(fields.timestamps(), (int) Math.min(RecordDescriptor.MAX_LENGTH, ring))
                : fields;
    }

    /** Explains a fault in a mapping; throws an error that is none. */
    public MmapQueueException explain(InternalError fault) {
        return TruncatedFiles.explain(fault, swapper.ring());
    }

    /** The random-access reader; throws ConfigException in version 1. */
    public RandomAccessReader randomAccess() {
        if (randomAccess == null) {
            throw new ConfigException(
                    "format_version",
                    "1",
                    "2: version 1 stores no numbers and no times by which a" + " record could be found");
        }
        return randomAccess;
    }

    @Override
    public long head() {
        try {
            return retained.head();
        } catch (IOException e) {
            throw new MmapQueueException("the beginning of the queue could not be found: " + e, e);
        }
    }

    @Override
    public long reclaimed() {
        return meta.reclaimed();
    }

    @Override
    public long end() {
        return published.getAsLong();
    }

    /**
     * Checks a stored position of a consumer.
     *
     * @param file the file that stores it
     * @param at the byte of the file
     * @throws CorruptException if the ring cannot hold that position
     */
    public void checkInRing(String what, long position, Path file, int at) {
        if (published instanceof PublishedEnd end && position > end.most()) {
            throw new CorruptException(
                    file.toString(),
                    at,
                    what + " is " + position + ", expected at most " + end.most() + ", the end of the ring");
        }
    }

    @Override
    public boolean timestamps() {
        return meta.fields().timestamps();
    }

    /** The position of a starting point. */
    public long find(StartAt start) {
        return switch (start.kind()) {
            case EARLIEST -> findFirst();
            case LATEST -> end();
            default -> locate(start).position();
        };
    }

    private long findFirst() {
        try {
            return randomAccess().locateFirst().position();
        } catch (CorruptException e) {
            if (!settings.delivery().skipsDamage()) {
                throw e;
            }
            DamageSkip.Found found = firstAfter(e);
            LOG.warn("a new consumer begins at record {}, after damage: {}", found.offset(), e.getMessage());
            return found.position();
        }
    }

    /** As {@link #find}, with the offset of the record that begins at the position. */
    public RandomAccessReader.OffsetPosition locate(StartAt start) {
        return switch (start.kind()) {
            case EARLIEST -> randomAccess().locateFirst();
            case LATEST -> randomAccess().locateEnd();
            case OFFSET -> randomAccess().locate(start.value());
            case TIMESTAMP -> randomAccess().locateTime(start.value());
            case COMMITTED ->
                throw new IllegalArgumentException("committed is a position of a consumer, not of the log");
        };
    }

    /** The offset of the record that begins after a position. */
    public long offsetAt(long position) {
        // Version 1 stores no offsets: they count from the committed position.
        return randomAccess == null ? version1Offset : randomAccess.offsetAt(position);
    }

    /** Notes that a consumer was closed at this offset. */
    public void leftAt(long offset) {
        version1Offset = offset;
    }

    /** The offset of the oldest retained record. */
    public long firstOffset() {
        return randomAccess == null ? 0 : randomAccess.firstOffset();
    }

    /** As {@link #firstOffset}; where damage hides that offset, the first later one that is known. */
    public long firstKnownOffset() {
        try {
            return firstOffset();
        } catch (CorruptException e) {
            return firstAfter(e).offset();
        }
    }

    private DamageSkip.Found firstAfter(CorruptException damage) {
        try {
            DamageSkip.Found found = damageSkip().locate(-1, randomAccess.start());
            if (found == null) {
                throw damage;
            }
            return found;
        } catch (IOException e) {
            throw new MmapQueueException("no record after " + damage.getMessage() + " could be found: " + e, e);
        } catch (InternalError e) {
            throw explain(e);
        }
    }

    /** The offset after the last record that a repair gave up; 0 for none. */
    public long gapsEnd() {
        return meta.gapsEnd();
    }

    /** The offset after the last record, read from the log, since another process may be the writer. */
    public long endOffset() {
        return randomAccess().endOffset();
    }

    /** The offset after the last durable record; at least {@link #firstOffset}. */
    public long durableOffset() {
        return randomAccess().offsetUpTo(meta.watermark());
    }

    /** Waits for running calls; later calls throw ClosedException. */
    @Override
    public void close() throws IOException {
        List<Closeable> all = new ArrayList<>(readers);
        all.add(randomAccess);
        Closing.all(all.toArray(new Closeable[0]));
    }

    /** Whether {@link #close} has stopped all calls. */
    public boolean isStopped() {
        return readers.isEmpty() && (randomAccess == null || randomAccess.isClosed());
    }
}
