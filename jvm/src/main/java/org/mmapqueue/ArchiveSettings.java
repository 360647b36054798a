package org.mmapqueue;

import java.net.URI;
import java.time.Duration;
import org.mmapqueue.config.ConfigKey;

/** The configuration keys of the archive into which records are shipped. */
abstract class ArchiveSettings<B> {
    private static final Duration LONGEST = Duration.ofMillis(Long.MAX_VALUE);

    abstract B set(ConfigKey key, String text);

    // In whole ms, rounded up, so that only zero becomes zero. A duration out of range is passed unchanged, for the
    // error's text.
    final B set(ConfigKey key, Duration duration) {
        if (duration.isNegative() || duration.compareTo(LONGEST) > 0) {
            return set(key, duration.toString());
        }
        Duration rounded = duration.compareTo(LONGEST) == 0 ? duration : duration.plusNanos(999_999);
        return set(key, Long.toString(rounded.toMillis()));
    }

    /**
     * The archive into which this process ships durable records while the queue is open. The consumer {@code ship}
     * retains each record until the archive has it.
     *
     * @param archive a directory that any number of hosts share, such as {@code hdfs://nodes/archive}
     * @return this
     */
    public B archiveUri(URI archive) {
        return set(ConfigKey.ARCHIVE_URI, archive.toString());
    }

    /**
     * The name under which this host is registered in the archive. A queue is shipped by one host alone.
     *
     * @param name 1 to 100 letters, digits, '_', '-' or '.'; by default the machine's host name
     * @return this
     */
    public B archiveHost(String name) {
        return set(ConfigKey.ARCHIVE_HOST, name);
    }

    /**
     * How records are compressed in the archive.
     *
     * @param codec {@code none} or {@code zstd}
     * @return this
     */
    public B archiveCodec(String codec) {
        return set(ConfigKey.ARCHIVE_CODEC, codec);
    }

    /**
     * The age from which this process deletes records of its queue from the archive, once every query has committed
     * them.
     *
     * @param age the time since the push; zero to delete none
     * @return this
     */
    public B archiveRetain(Duration age) {
        return set(ConfigKey.ARCHIVE_RETAIN, age);
    }

    /**
     * The time between two shipments while there are records. {@link MmapQueue#awaitShipped} of this queue does not wait
     * for it.
     *
     * @param period at least 1 ms
     * @return this
     */
    public B shipPeriod(Duration period) {
        return set(ConfigKey.SHIP_PERIOD, period);
    }

    /**
     * The bytes of records that are shipped before the period is over.
     *
     * @param bytes 4096 to 256 MiB; the shipper holds up to twice as much in memory
     * @return this
     */
    public B shipBytes(long bytes) {
        return set(ConfigKey.SHIP_BYTES, Long.toString(bytes));
    }

    /**
     * What a full ring does: {@code wait} keeps the records that a consumer needs, and producers wait; {@code archive}
     * gives up records that the archive has, and the consumer reads them there.
     *
     * @param where {@code wait} or {@code archive}
     * @return this
     */
    public B overflow(String where) {
        return set(ConfigKey.OVERFLOW, where);
    }
}
