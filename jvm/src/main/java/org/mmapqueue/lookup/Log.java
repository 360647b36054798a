package org.mmapqueue.lookup;

import java.io.Closeable;
import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.mmapqueue.StartAt;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.LogReaderV1;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.TruncatedFiles;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.swap.Swapper;

/** The records of an open queue, as its readers see them. Any number of threads. */
public final class Log implements RandomAccessReader.Source, Closeable {
    private final Settings settings;
    private final Geometry geometry;
    private final MetaPage meta;
    private final Swapper swapper;
    private final LogStart retained;
    private final RandomAccessReader randomAccess;
    private final Set<RangeReader> readers = ConcurrentHashMap.newKeySet();
    /** In version 1, the number of the record at which the consumer stood when it was closed. */
    private volatile long version1Offset;

    public Log(Settings settings, MetaPage meta, Swapper swapper, Registry registry) {
        this.settings = settings;
        this.geometry = settings.geometry();
        this.meta = meta;
        this.swapper = swapper;
        this.retained = new LogStart(geometry, meta, swapper, registry, InstantSource.system());
        this.randomAccess =
                geometry.format().hasSegmentHeaders() ? new RandomAccessReader((LogReaderV2) reader(), this) : null;
    }

    /** A new reader, for one thread at a time. */
    public LogReader reader() {
        return geometry.format() == Format.V1
                ? new LogReaderV1(swapper, geometry, settings.maxEventSize(), meta::writing)
                : new LogReaderV2(swapper, geometry, readableFields(), meta::writing);
    }

    /** A new reader of a range, until {@code gone} says that the handle which gives it has been closed. */
    public RangeReader reader(long from, long to, BooleanSupplier gone) {
        RandomAccessReader numbers = randomAccess(); // version 1 has none
        RangeReader reader = new RangeReader((LogReaderV2) reader(), numbers, gone, readers::remove, from, to);
        readers.add(reader);
        return reader;
    }

    // The process that writes may have been started anew with a larger max_event_size: only the ring is a bound then.
    private MetaFields readableFields() {
        MetaFields fields = meta.fields();
        long ring = (long) geometry.capacity() * geometry.dataBytes();
        return settings.readOnly()
                ? fields.withSettings(fields.timestamps(), (int) Math.min(RecordDescriptor.MAX_LENGTH, ring))
                : fields;
    }

    /** What a fault in a mapping means; throws the fault itself when that is not known. */
    public CorruptException explain(InternalError fault) {
        return TruncatedFiles.explain(fault, swapper.ring());
    }

    /** Random access. */
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
        return meta.writing();
    }

    @Override
    public boolean timestamps() {
        return meta.fields().timestamps();
    }

    /** The position of a place; of one that is said by a number or a time, when there is such a record. */
    public long find(StartAt place) {
        return place.kind() == StartAt.Kind.LATEST ? end() : locate(place).position();
    }

    /** As {@link #find}, with the offset of the record that begins there. */
    public RandomAccessReader.Place locate(StartAt place) {
        return switch (place.kind()) {
            case EARLIEST -> randomAccess().locateFirst();
            case LATEST -> randomAccess().locateEnd();
            case OFFSET -> randomAccess().locate(place.value());
            case TIMESTAMP -> randomAccess().locateTime(place.value());
            case COMMITTED -> throw new IllegalArgumentException("committed is a place of a consumer, not of the log");
        };
    }

    /** The number of the record that begins behind a position. */
    public long offsetAt(long position) {
        // Version 1 stores no numbers: counting begins where the consumer stands.
        return randomAccess == null ? version1Offset : randomAccess.offsetAt(position);
    }

    /** A consumer is closed, at a record with this number. */
    public void leftAt(long offset) {
        version1Offset = offset;
    }

    /** The number of the oldest record that is retained. */
    public long firstOffset() {
        return randomAccess == null ? 0 : randomAccess.firstOffset();
    }

    /** The number behind the last record, found in the log itself. */
    public long endOffset() {
        return randomAccess().endOffset();
    }

    /** Waits for the calls under way and lets no other one begin. */
    @Override
    public void close() throws IOException {
        List<Closeable> all = new ArrayList<>();
        readers.forEach(reader -> all.add(reader::close));
        all.add(randomAccess);
        Closing.all(all.toArray(new Closeable[0]));
    }

    /** Whether no call can begin any more. */
    public boolean isStopped() {
        return readers.isEmpty() && (randomAccess == null || randomAccess.isClosed());
    }
}
