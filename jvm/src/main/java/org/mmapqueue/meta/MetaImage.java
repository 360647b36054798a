package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/**
 * meta.dat of version 2 as bytes in memory, whole or damaged: checks the fixed facts, reads and changes the page of
 * a queue that is not open. Not thread-safe.
 */
public final class MetaImage {
    /** Bytes of the file in version 1; Satellite truncates a page of version 2 to this length. */
    public static final int TABLE_LENGTH = MetaDescriptor.V1_LENGTH;

    public static final int LENGTH = MetaDescriptor.LENGTH;

    /** Segments are as large as one or several pages. */
    public static final int PAGE = 4096;

    public static final int LARGEST_SEGMENT = 1 << 30;
    public static final int MOST_SEGMENTS = 1 << 30;
    private static final int LARGEST_EVENT = (1 << 27) - 1;

    private final ByteBuffer bytes;
    private final long fileLength;

    private MetaImage(ByteBuffer bytes, long fileLength) {
        this.bytes = bytes;
        this.fileLength = fileLength;
    }

    /** The words of meta.dat that change while the queue is open; {@link MetaPage} has the same ones. */
    public enum Word {
        /** The log end: the end of the last published record. */
        WRITING(MetaDescriptor.WRITING, MetaDescriptor.TABLE_WRITING),
        /** The recovery point: everything before it is durable. */
        WATERMARK(MetaDescriptor.WATERMARK, MetaDescriptor.TABLE_WATERMARK),
        /** The writer may overwrite everything before it. */
        RECLAIMED(MetaDescriptor.RECLAIMED, 0),
        /** The next reclaimed position, announced by the writer. */
        RECLAIMING(MetaDescriptor.RECLAIMING, 0),
        /** Everything between it and the recovery point is durable. */
        INTACT(MetaDescriptor.INTACT, 0),
        /** Counts consumers that were created, deleted or moved back. */
        CONSUMER_CHANGES(MetaDescriptor.CONSUMER_CHANGES, 0),
        /** The log start while no consumer exists. */
        HELD_FROM(MetaDescriptor.HELD_FROM, 0),
        /** The age up to which acked records are retained, in ms; 0 for no limit by age. */
        RETAIN_MILLIS(MetaDescriptor.RETAIN_MILLIS, 0),
        /** Bytes before the log end that are retained; 0 for no limit by size. */
        RETAIN_BYTES(MetaDescriptor.RETAIN_BYTES, 0),
        /** The offset after the last record that a repair gave up: every gap is before it; 0 for no gap. */
        GAPS_END(MetaDescriptor.GAPS_END, 0),
        /** The boot of the machine on which the last writer opened the queue; 0 if unknown. */
        BOOT(MetaDescriptor.BOOT, 0);

        /** The words with a copy in the readable table. */
        static final List<Word> MIRRORED = List.of(WRITING, WATERMARK);
        /** The words that are positions in the log. */
        public static final List<Word> POSITIONS =
                List.of(WRITING, WATERMARK, RECLAIMED, RECLAIMING, INTACT, HELD_FROM);

        final int at;
        private final int table;

        Word(int at, int table) {
            this.at = at;
            this.table = table;
        }

        /** Byte position of the word in the file. */
        public int at() {
            return at;
        }

        /** Byte position of the word's copy in the readable table; 0 for no copy. */
        public int inTable() {
            return table;
        }
    }

    public static MetaImage read(Storage storage, Path directory) throws IOException {
        try (DataFile file = storage.open(directory.resolve(MetaPage.FILE_NAME), Storage.Mode.READ)) {
            return read(file);
        }
    }

    /** Reads the file; null if it is missing. */
    public static MetaImage readIfThere(Storage storage, Path directory) throws IOException {
        return Files.exists(directory.resolve(MetaPage.FILE_NAME)) ? read(storage, directory) : null;
    }

    /** Reads an open file. */
    static MetaImage read(DataFile file) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        file.read(bytes, 0);
        return new MetaImage(bytes, file.size());
    }

    /** Returns a page with these facts, and with cursors of 0. */
    public static MetaImage of(MetaFields fields) {
        MetaImage image = new MetaImage(ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN), LENGTH);
        image.bytes.putLong(MetaDescriptor.VERSION, 2);
        image.fields(fields);
        return image;
    }

    public long fileLength() {
        return fileLength;
    }

    /** The format version, 1 or 2 when it is right. */
    public long version() {
        return bytes.getLong(MetaDescriptor.VERSION);
    }

    /** Whether a Satellite was killed while it created this queue. */
    public boolean isUnfinishedV1() {
        return MetaPageV1.isUnfinished(bytes, fileLength);
    }

    /** Ring slots as the readable table has them, unchecked; readable even when the page was truncated to the table. */
    public long tableCapacity() {
        return bytes.getLong(MetaDescriptor.CAPACITY);
    }

    /** A position of the readable table, as of the last flush; -1 when it is out of range, or the table lacks it. */
    public long inTable(Word word, int segmentSize) {
        return word.table == 0 ? -1 : inTable(word.table, segmentSize);
    }

    /** The committed position of a page of version 1; -1 when it is out of range. */
    public long committedV1(int segmentSize) {
        return inTable(MetaDescriptor.TABLE_COMMITTED, segmentSize);
    }

    private long inTable(int at, int segmentSize) {
        long id = bytes.getLong(at);
        long offset = bytes.getLong(at + Long.BYTES);
        boolean sound = id >= 0 && id < Long.MAX_VALUE / segmentSize && offset >= 0 && offset < segmentSize;
        return sound ? id * segmentSize + offset : -1;
    }

    /** A position of the readable table as text, unchecked. */
    public String tableText(Word word) {
        return "id " + bytes.getLong(word.table) + ", offset " + bytes.getLong(word.table + Long.BYTES);
    }

    /** Whether version 1.0.0rc1 has written the page, in a format that was not released. */
    public boolean isOfRc1() {
        return version() == 2
                && fileLength == LENGTH
                && bytes.getLong(MetaDescriptor.MAGIC) == MetaDescriptor.MAGIC_OF_RC1;
    }

    /** The first fault of the fixed facts; null for none. */
    public Mismatch check() {
        if (version() != 2) {
            return new Mismatch(MetaDescriptor.VERSION, "format version " + Long.toUnsignedString(version()), "1 or 2");
        }
        if (fileLength != LENGTH) {
            return new Mismatch(
                    fileLength,
                    fileLength + " bytes",
                    LENGTH
                            + (fileLength == TABLE_LENGTH
                                    ? ": cut to 80 bytes, as Satellite does to a directory that is not its own; the"
                                            + " segments are untouched, and mmapqueue repair finds the cursors again"
                                    : ""));
        }
        long magic = bytes.getLong(MetaDescriptor.MAGIC);
        if (magic != MetaDescriptor.MAGIC_VALUE) {
            return isOfRc1()
                    ? new Mismatch(
                            MetaDescriptor.MAGIC,
                            "a queue of version 1.0.0rc1",
                            "one of a later version: its format was not released. Pop its records with 1.0.0rc1,"
                                    + " and push them into a new queue")
                    : new Mismatch(
                            MetaDescriptor.MAGIC,
                            "magic " + Mismatch.hex(magic),
                            Mismatch.hex(MetaDescriptor.MAGIC_VALUE));
        }
        int found = bytes.getInt(MetaDescriptor.CHECKSUM);
        if (found != checksum()) {
            return new Mismatch(MetaDescriptor.CHECKSUM, "checksum " + Mismatch.hex(found), Mismatch.hex(checksum()));
        }
        long size = bytes.getLong(MetaDescriptor.SEGMENT_SIZE);
        Mismatch uneven = new Mismatch(MetaDescriptor.SEGMENT_SIZE, "segment size " + size, "a multiple of " + PAGE);
        return Stream.of(
                        checkRange(MetaDescriptor.CAPACITY, "capacity", 2, MOST_SEGMENTS),
                        checkRange(MetaDescriptor.SEGMENT_SIZE, "segment size", PAGE, LARGEST_SEGMENT),
                        checkRange(MetaDescriptor.MAX_EVENT_SIZE, "max event size", 1, LARGEST_EVENT),
                        checkRange(MetaDescriptor.EPOCH, "epoch", 1, Integer.MAX_VALUE),
                        size % PAGE == 0 ? null : uneven)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    private Mismatch checkRange(int at, String what, long low, long high) {
        long value = bytes.getLong(at);
        return value >= low && value <= high ? null : new Mismatch(at, what + " " + value, low + ".." + high);
    }

    /** The fixed facts; valid only if {@link #check} returns null. */
    public MetaFields fields() {
        return new MetaFields(
                2,
                (int) bytes.getLong(MetaDescriptor.CAPACITY),
                (int) bytes.getLong(MetaDescriptor.SEGMENT_SIZE),
                bytes.getLong(MetaDescriptor.UUID_HIGH),
                bytes.getLong(MetaDescriptor.UUID_LOW),
                (bytes.getInt(MetaDescriptor.FLAGS) & MetaDescriptor.FLAG_TIMESTAMPS) != 0,
                (int) bytes.getLong(MetaDescriptor.MAX_EVENT_SIZE),
                bytes.getLong(MetaDescriptor.CREATED_AT),
                bytes.getLong(MetaDescriptor.EPOCH));
    }

    /** Replaces the fixed facts. */
    public void fields(MetaFields fields) {
        bytes.putLong(MetaDescriptor.CAPACITY, fields.capacity());
        bytes.putLong(MetaDescriptor.MAGIC, MetaDescriptor.MAGIC_VALUE);
        bytes.putLong(MetaDescriptor.UUID_HIGH, fields.uuidHigh());
        bytes.putLong(MetaDescriptor.UUID_LOW, fields.uuidLow());
        bytes.putLong(MetaDescriptor.SEGMENT_SIZE, fields.segmentSize());
        bytes.putInt(MetaDescriptor.FLAGS, fields.timestamps() ? MetaDescriptor.FLAG_TIMESTAMPS : 0);
        bytes.putInt(MetaDescriptor.FLAGS + Integer.BYTES, 0);
        bytes.putLong(MetaDescriptor.MAX_EVENT_SIZE, fields.maxEventSize());
        bytes.putLong(MetaDescriptor.CREATED_AT, fields.createdAtMicros());
        bytes.putLong(MetaDescriptor.EPOCH, fields.epoch());
        bytes.putInt(MetaDescriptor.CHECKSUM, checksum());
    }

    /** The fixed facts and their checksum, as they are stored from {@link MetaDescriptor#CAPACITY} on. */
    ByteBuffer fixed() {
        return bytes.slice(MetaDescriptor.CAPACITY, MetaDescriptor.CHECKSUM + Integer.BYTES - MetaDescriptor.CAPACITY);
    }

    private int checksum() {
        CRC32C crc = new CRC32C();
        crc.update(bytes.array(), MetaDescriptor.CAPACITY, MetaDescriptor.CHECKSUM - MetaDescriptor.CAPACITY);
        return (int) crc.getValue();
    }

    public long get(Word word) {
        return bytes.getLong(word.at);
    }

    /** Sets a cursor, also in the readable table. */
    public void put(Word word, long position, int segmentSize) {
        bytes.putLong(word.at, position);
        if (word.table > 0) {
            bytes.putLong(word.table, position / segmentSize);
            bytes.putLong(word.table + Long.BYTES, position % segmentSize);
        }
    }

    /** Whether the last writer closed the queue. */
    public boolean clean() {
        return bytes.getLong(MetaDescriptor.CLEAN_MARK) == MetaDescriptor.CLEAN;
    }

    /** Sets whether the last writer closed the queue, and clears the offset that it stored at its close. */
    public void clean(boolean closed) {
        bytes.putLong(MetaDescriptor.CLEAN_MARK, closed ? MetaDescriptor.CLEAN : 0);
        for (int at = MetaDescriptor.CLEAN_MARK + Long.BYTES; at < MetaDescriptor.WRITING; at += Long.BYTES) {
            bytes.putLong(at, 0);
        }
    }

    /** The offset of the next record, stored by the writer at its close; -1 for none. */
    public long closedAt() {
        long number = bytes.getLong(MetaDescriptor.CLOSED_AT);
        long newest = bytes.getLong(MetaDescriptor.CLOSED_TIME);
        long checksum = bytes.getLong(MetaDescriptor.CLOSED_CHECKSUM);
        return number >= 0 && checksum == closedChecksum(get(Word.WRITING), number, newest) ? number : -1;
    }

    /**
     * Stores the offset of the next record and the newest timestamp, which are valid for the present writing position.
     */
    public void closedAt(long number, long newest) {
        bytes.putLong(MetaDescriptor.CLOSED_AT, number);
        bytes.putLong(MetaDescriptor.CLOSED_TIME, newest);
        bytes.putLong(MetaDescriptor.CLOSED_CHECKSUM, closedChecksum(get(Word.WRITING), number, newest));
    }

    /**
     * Sets the cursors of a queue whose ring was written anew, and the clean mark.
     *
     * @param start the position at which the ring begins
     * @param end the log end
     * @param number the offset of the next record
     * @param newest the newest timestamp, in µs since 1970
     */
    public void closedWith(long start, long end, long number, long newest) {
        int size = fields().segmentSize();
        put(Word.WRITING, end, size);
        put(Word.WATERMARK, end, size);
        put(Word.RECLAIMED, start, size);
        put(Word.RECLAIMING, start, size);
        put(Word.INTACT, start, size);
        clean(true);
        closedAt(number, newest);
    }

    static long closedChecksum(long writing, long number, long newest) {
        CRC32C crc = new CRC32C();
        crc.update(ByteBuffer.allocate(3 * Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(writing)
                .putLong(number)
                .putLong(newest)
                .flip());
        return crc.getValue();
    }

    /** Whether acked records are retained. */
    public boolean isRetaining() {
        return get(Word.RETAIN_MILLIS) > 0 || get(Word.RETAIN_BYTES) > 0;
    }

    /** Writes the page atomically, and fsyncs it. */
    public void write(Storage storage, Path directory) throws IOException {
        NewFile.write(
                storage,
                directory.resolve(MetaPage.FILE_NAME),
                bytes.duplicate().clear());
    }
}
