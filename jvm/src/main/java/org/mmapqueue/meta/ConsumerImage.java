package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/**
 * The page of a named consumer as bytes in memory, whole or damaged; {@link ConsumerPage} has the layout. Not
 * thread-safe.
 */
public final class ConsumerImage {
    private final ByteBuffer bytes;
    private final long fileLength;

    private ConsumerImage(ByteBuffer bytes, long fileLength) {
        this.bytes = bytes;
        this.fileLength = fileLength;
    }

    public enum Word {
        /** Everything before it is acked. */
        COMMITTED(ConsumerPage.COMMITTED),
        /** Everything before it was popped. */
        READING(ConsumerPage.READING),
        /** Everything before it was dropped. */
        DROPPED(ConsumerPage.DROPPED),
        /** The offset of the first record that is not acked, plus 1; 0 if it is not known. */
        UNACKED_OFFSET(ConsumerPage.UNACKED_OFFSET);

        private final int at;

        Word(int at) {
            this.at = at;
        }

        public int at() {
            return at;
        }
    }

    /** Whether the newest drop is of records that the consumer has not acked. */
    public boolean isDropped() {
        return get(Word.DROPPED) > get(Word.COMMITTED);
    }

    /** The offset of the first record that was not acked before the drop. */
    public long unackedOffset() {
        long stored = get(Word.UNACKED_OFFSET);
        return stored > 0 ? stored - 1 : bytes.getLong(ConsumerPage.DROPPED_FIRST);
    }

    public static ConsumerImage read(Storage storage, Path path) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(PageHeader.LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            file.read(bytes, 0);
            return new ConsumerImage(bytes, file.size());
        }
    }

    /** The first fault that the page shows by itself; null for none. */
    public Mismatch check() {
        if (fileLength != PageHeader.LENGTH) {
            return new Mismatch(
                    Math.min(fileLength, PageHeader.LENGTH),
                    fileLength + " bytes",
                    Integer.toString(PageHeader.LENGTH));
        }
        if (bytes.getLong(0) != ConsumerPage.MAGIC) {
            return new Mismatch(0, "magic " + Mismatch.hex(bytes.getLong(0)), Mismatch.hex(ConsumerPage.MAGIC));
        }
        int found = bytes.getInt(PageHeader.CHECKSUM);
        return found == checksum()
                ? null
                : new Mismatch(PageHeader.CHECKSUM, "checksum " + Mismatch.hex(found), Mismatch.hex(checksum()));
    }

    /** The first fault of a valid page as that of a consumer of this queue; null for none. */
    public Mismatch check(MetaFields queue) {
        return uuidHigh() == queue.uuidHigh() && uuidLow() == queue.uuidLow()
                ? null
                : new Mismatch(
                        PageHeader.UUID_HIGH,
                        "a consumer of queue " + Long.toHexString(uuidHigh()) + "…" + Long.toHexString(uuidLow()),
                        "one of queue " + Long.toHexString(queue.uuidHigh()) + "…" + Long.toHexString(queue.uuidLow()));
    }

    public long uuidHigh() {
        return bytes.getLong(PageHeader.UUID_HIGH);
    }

    public long uuidLow() {
        return bytes.getLong(PageHeader.UUID_LOW);
    }

    public long get(Word word) {
        return bytes.getLong(word.at);
    }

    public void put(Word word, long position) {
        bytes.putLong(word.at, position);
    }

    /** Whether the consumer is marked as deleted; its file may still exist. */
    public boolean isDeleted() {
        return get(Word.COMMITTED) == ConsumerPage.DELETED;
    }

    /** Sets the fixed part to that of a consumer of this queue. */
    public void belongTo(MetaFields queue) {
        bytes.putLong(0, ConsumerPage.MAGIC)
                .putLong(PageHeader.UUID_HIGH, queue.uuidHigh())
                .putLong(PageHeader.UUID_LOW, queue.uuidLow());
        bytes.putInt(PageHeader.CHECKSUM, checksum());
    }

    private int checksum() {
        return PageHeader.checksum(bytes.array());
    }

    /** Writes the page atomically, and fsyncs it. */
    public void write(Storage storage, Path path) throws IOException {
        NewFile.write(storage, path, bytes.duplicate().clear());
    }
}
