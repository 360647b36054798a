package org.mmapqueue.archive.run;

import java.io.Serializable;
import java.util.Locale;
import java.util.Optional;

/**
 * The fields of a run's name. Names sort in the order of offsets.
 *
 * @param first the offset of the first record
 * @param end the offset after the last record
 * @param epoch the epoch of the shipper that has stored it; of a merged run, the highest one of its parts
 * @param minMicros the oldest timestamp, µs since 1970; 0 if no record has one
 * @param maxMicros the newest timestamp
 * @param bytes the bytes of all records, uncompressed
 * @param crc the CRC32C of these bytes
 * @param lost the number of lost records: those of the gaps that a repair of the queue has left
 */
public record RunName(long first, long end, long epoch, long minMicros, long maxMicros, long bytes, int crc, long lost)
        implements Serializable {
    /** Number of offsets of a bucket, the directory of the runs that begin in it. */
    public static final long BUCKET = 10_000_000;

    private static final long serialVersionUID = 1L;

    private static final String SUFFIX = ".run";
    /** Number of fields in the name of a run without lost records. */
    private static final int FIELDS = 7;

    /** The name of a run without lost records. */
    public RunName(long first, long end, long epoch, long minMicros, long maxMicros, long bytes, int crc) {
        this(first, end, epoch, minMicros, maxMicros, bytes, crc, 0);
    }

    /** Parses the name of a file; empty if it is not the name of a run. */
    public static Optional<RunName> parse(String file) {
        if (!file.endsWith(SUFFIX)) {
            return Optional.empty();
        }
        String[] fields = file.substring(0, file.length() - SUFFIX.length()).split("-", -1);
        if (fields.length < FIELDS || fields.length > FIELDS + 1) {
            return Optional.empty();
        }
        try {
            RunName name = new RunName(
                    Long.parseLong(fields[0]),
                    Long.parseLong(fields[1]),
                    Long.parseLong(fields[2]),
                    Long.parseLong(fields[3]),
                    Long.parseLong(fields[4]),
                    Long.parseLong(fields[5]),
                    Integer.parseUnsignedInt(fields[6], 16),
                    fields.length == FIELDS ? 0 : Long.parseLong(fields[FIELDS]));
            return name.first < name.end
                            && name.lost <= name.end - name.first
                            && name.minMicros <= name.maxMicros
                            && name.toString().equals(file)
                    ? Optional.of(name)
                    : Optional.empty();
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** The directory of a partition's runs. */
    public static String directory(int partition) {
        return String.format(Locale.ROOT, "data/%05d", partition);
    }

    /** The directory of the runs of a partition that begin in a bucket. */
    public static String directory(int partition, long bucket) {
        return String.format(Locale.ROOT, "data/%05d/%012d", partition, bucket);
    }

    /** The bucket of an offset. */
    public static long bucketOf(long offset) {
        return offset / BUCKET;
    }

    /** The bucket of this run. */
    public long bucket() {
        return bucketOf(first);
    }

    /** The number of records, the lost ones included. */
    public long count() {
        return end - first;
    }

    /** The file's name in the archive. */
    public String file(int partition) {
        return directory(partition, bucket()) + "/" + this;
    }

    /** The name of these records in a run of another epoch. */
    public RunName withEpoch(long other) {
        return new RunName(first, end, other, minMicros, maxMicros, bytes, crc, lost);
    }

    /** Whether a run has the same records, as far as names tell: all fields but the epoch are equal. */
    public boolean hasRecordsOf(RunName other) {
        return equals(other.withEpoch(epoch));
    }

    /** The last part of the file's name. */
    @Override
    public String toString() {
        return pad(first) + "-" + pad(end) + "-" + epoch + "-" + minMicros + "-" + maxMicros + "-" + bytes + "-"
                + hex(crc) + (lost == 0 ? "" : "-" + lost) + SUFFIX;
    }

    static String pad(long offset) {
        String digits = Long.toString(offset);
        return "0".repeat(19 - digits.length()) + digits;
    }

    private static String hex(int value) {
        String digits = Integer.toHexString(value);
        return "0".repeat(8 - digits.length()) + digits;
    }
}
