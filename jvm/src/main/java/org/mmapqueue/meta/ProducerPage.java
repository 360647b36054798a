package org.mmapqueue.meta;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.LongSupplier;
import java.util.zip.CRC32C;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/**
 * The sequences of an idempotent producer, producers/&lt;name&gt;.dat; mapped by the writing process.
 *
 * <pre>
 *   0  magic (8)
 *   8  queue UUID (16)
 *  24  created at, µs since 1970 (8)
 *  32  CRC32C of bytes 0..31 (4)
 *
 * and at 512, 1024, 1536 and 2048, in a sector of its own, a slot:
 *
 *   0  sequence (8)
 *   8  the offset after the batch's last record (8)
 *  16  CRC32C of bytes 0..31 of the page, 0..15 of the slot and, with a note, 20..39; 0 = empty slot
 *  20  bytes of the note (4): 0 or 16
 *  24  the note (16): two numbers of the caller
 * </pre>
 *
 * <p>A slot is stored before its batch is published, and its checksum last. It counts once the log reaches its end
 * offset. The kernel may write back any slot at any time, without its batch, so three slots are never overwritten: the
 * newest one, which survives a kill; the newest durable one with a durable batch, which survives a loss of power; and
 * the one that is being fsynced. The fourth slot is for the next batch.
 *
 * <p>The thread with the appender's lock stores slots; the thread that fsyncs chooses among them. The methods that both
 * call are synchronized.
 */
public final class ProducerPage implements Closeable {
    /** The directory of these pages in the queue directory. */
    public static final String DIRECTORY = "producers";
    /** The suffix of the file names. */
    public static final String SUFFIX = ".dat";
    /** Stored in place of a sequence: none. */
    public static final long NONE = -1;

    /** "MMAPQPR2" in ASCII, first byte lowest. */
    static final long MAGIC = 0x3252_5051_5041_4D4DL;

    private static final int SECTOR = 512;
    private static final int SLOTS = 4;
    private static final int SLOT_END = 8;
    private static final int SLOT_CHECKSUM = 16;
    private static final int SLOT_NOTE_LENGTH = 20;
    private static final int SLOT_NOTE = 24;
    private static final int NOTE_LENGTH = 2 * Long.BYTES;
    private static final long[] NO_NOTE = {};

    private final DataFile file;
    private final ByteBuffer page;
    private final byte[] identity = new byte[PageHeader.CHECKSUM];
    /** The sequences of the slots; NONE for an empty slot. */
    private final long[] sequences = new long[SLOTS];

    private final long[] ends = new long[SLOTS];
    /** The notes of the slots: two numbers each, or none. */
    private final long[][] notes = new long[SLOTS][];
    /** The log end after each slot's batch; 0 for a batch from before the page was opened. */
    private final long[] positions = new long[SLOTS];
    /** The slot that is stored but not accepted yet, or -1. */
    private int pending = -1;

    private volatile long newest = NONE;
    private volatile long durable = NONE;
    private long syncing = NONE;
    private volatile boolean retired;

    private ProducerPage(DataFile file, MappedByteBuffer mapping, ByteBuffer image) {
        this.file = file;
        this.page = mapping;
        image.get(0, identity);
        Arrays.fill(sequences, NONE);
        Arrays.fill(notes, NO_NOTE);
    }

    /** Creates the page of a new producer, atomically. */
    public static void create(Storage storage, Path path, MetaFields queue, long createdAtMicros) throws IOException {
        ByteBuffer image = PageHeader.create(MAGIC, queue, createdAtMicros);
        NewFile.write(storage, path, image);
    }

    /**
     * Opens the page.
     *
     * @throws CorruptException when it is damaged, or of another queue, or a slot is damaged
     */
    public static ProducerPage open(Storage storage, Path path, MetaFields queue) throws IOException {
        DataFile file = storage.open(path, Storage.Mode.WRITE);
        try {
            ByteBuffer image = PageHeader.read(file, path, MAGIC, queue, "producer");
            ProducerPage opened = new ProducerPage(file, file.map(PageHeader.LENGTH, true), image);
            opened.load(path, image);
            return opened;
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    /**
     * The last batch of a producer.
     *
     * @param sequence its sequence, or {@link #NONE} without a batch in the log
     * @param end the offset after its last record; 0 without a batch
     * @param createdAtMicros when the page was created, µs since 1970
     */
    public record LastBatch(long sequence, long end, long createdAtMicros) {}

    /**
     * Reads the last batch in the log, while another process may be writing the page.
     *
     * @param nextOffset the offset of the next record, loaded after the slots, since batches may be pushed at any time
     * @throws CorruptException as from {@link #open}, and when a slot is being stored
     */
    public static LastBatch lastBatch(Storage storage, Path path, MetaFields queue, LongSupplier nextOffset)
            throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            ByteBuffer image = PageHeader.read(file, path, MAGIC, queue, "producer");
            ProducerPage read = new ProducerPage(file, null, image);
            read.load(path, image);
            long end = nextOffset.getAsLong();
            long createdAt = image.getLong(PageHeader.CREATED_AT);
            LastBatch last = new LastBatch(NONE, 0, createdAt);
            for (int slot = 0; slot < SLOTS; slot++) {
                if (read.sequences[slot] > last.sequence && read.ends[slot] <= end) {
                    last = new LastBatch(read.sequences[slot], read.ends[slot], createdAt);
                }
            }
            return last;
        }
    }

    private void load(Path path, ByteBuffer image) {
        for (int slot = 0; slot < SLOTS; slot++) {
            int at = at(slot);
            int found = image.getInt(at + SLOT_CHECKSUM);
            if (found == 0) {
                continue;
            }
            long sequence = image.getLong(at);
            long end = image.getLong(at + SLOT_END);
            int noteLength = image.getInt(at + SLOT_NOTE_LENGTH);
            long[] note = noteLength == 0
                    ? NO_NOTE
                    : new long[] {image.getLong(at + SLOT_NOTE), image.getLong(at + SLOT_NOTE + Long.BYTES)};
            int expected = slotChecksum(sequence, end, note);
            // A killed process leaves a checksum of 0, or the right one.
            if (found != expected || sequence < 0 || end < 0 || noteLength != 0 && noteLength != NOTE_LENGTH) {
                throw new CorruptException(
                        path.toString(),
                        at,
                        "the slot of sequence " + sequence + " and end offset "
                                + end + ", with " + noteLength + " bytes of a note, has the checksum "
                                + Integer.toHexString(found) + ", expected " + Integer.toHexString(expected)
                                + ", neither below 0, and 0 or " + NOTE_LENGTH + " bytes");
            }
            sequences[slot] = sequence;
            ends[slot] = end;
            notes[slot] = note;
        }
    }

    private static int at(int slot) {
        return SECTOR * (1 + slot);
    }

    private int slotChecksum(long sequence, long end, long[] note) {
        byte[] content = new byte[SLOT_NOTE + NOTE_LENGTH];
        Mapped.ARRAY_LONG.set(content, 0, sequence);
        Mapped.ARRAY_LONG.set(content, SLOT_END, end);
        CRC32C crc = new CRC32C();
        crc.update(identity, 0, PageHeader.CHECKSUM);
        crc.update(content, 0, SLOT_CHECKSUM);
        if (note.length > 0) {
            Mapped.ARRAY_INT.set(content, SLOT_NOTE_LENGTH, NOTE_LENGTH);
            Mapped.ARRAY_LONG.set(content, SLOT_NOTE, note[0]);
            Mapped.ARRAY_LONG.set(content, SLOT_NOTE + Long.BYTES, note[1]);
            crc.update(content, SLOT_NOTE_LENGTH, SLOT_NOTE + NOTE_LENGTH - SLOT_NOTE_LENGTH);
        }
        int value = (int) crc.getValue();
        return value == 0 ? -1 : value;
    }

    /**
     * Empties the slots of batches that are not in the log. The caller has made the other slots durable. Must be called
     * before anything is appended: another record would make such a slot count.
     *
     * @param nextOffset the offset of the next record
     * @return the number of emptied slots
     */
    public synchronized int start(long nextOffset) throws IOException {
        int emptied = 0;
        long last = NONE;
        for (int slot = 0; slot < SLOTS; slot++) {
            if (sequences[slot] != NONE && ends[slot] > nextOffset) {
                empty(slot);
                emptied++;
            }
            last = Math.max(last, sequences[slot]);
        }
        if (emptied > 0) {
            force();
        }
        newest = last;
        durable = last;
        return emptied;
    }

    /** The highest sequence with a batch in the log, or {@link #NONE}. Any thread. */
    public long newest() {
        return newest;
    }

    /**
     * The note of a sequence with a batch in the log. Any thread.
     *
     * @return two numbers; no numbers when the sequence was stored without a note; null when no slot has the sequence
     */
    public synchronized long[] note(long sequence) {
        for (int slot = 0; slot < SLOTS; slot++) {
            if (sequence != NONE && sequences[slot] == sequence && slot != pending) {
                return notes[slot].clone();
            }
        }
        return null;
    }

    /** The offset after the newest batch; 0 when there is none. Any thread. */
    public synchronized long newestEnd() {
        long end = 0;
        for (int slot = 0; slot < SLOTS; slot++) {
            if (sequences[slot] != NONE && sequences[slot] == newest) {
                end = ends[slot];
            }
        }
        return end;
    }

    /** Whether all slots and their batches are durable, and no slot is pending. Any thread. */
    public synchronized boolean isIdle() {
        return pending < 0 && syncing == NONE && newest == durable;
    }

    // ---- called with the appender's lock

    /**
     * Stores a slot, for a batch that is about to be published.
     *
     * @param sequence higher than {@link #newest}
     * @param end the offset after its last record
     * @param position the log end after the batch
     * @param note two numbers for {@link #note}; null for none
     */
    public synchronized void store(long sequence, long end, long position, long[] note) {
        int slot = free();
        long[] stored = note == null ? NO_NOTE : note.clone();
        int checksum = slotChecksum(sequence, end, stored);
        int at = at(slot);
        pending = slot;
        sequences[slot] = NONE;
        Mapped.INT.setRelease(page, at + SLOT_CHECKSUM, 0);
        Mapped.LONG.setRelease(page, at, sequence);
        Mapped.LONG.setRelease(page, at + SLOT_END, end);
        Mapped.INT.setRelease(page, at + SLOT_NOTE_LENGTH, stored.length * Long.BYTES);
        for (int i = 0; i < stored.length; i++) {
            Mapped.LONG.setRelease(page, at + SLOT_NOTE + i * Long.BYTES, stored[i]);
        }
        Mapped.INT.setRelease(page, at + SLOT_CHECKSUM, checksum);
        ends[slot] = end;
        notes[slot] = stored;
        positions[slot] = position;
        sequences[slot] = sequence;
    }

    // Chooses the oldest slot that may be overwritten, so that the latest notes remain.
    private int free() {
        int oldest = -1;
        for (int slot = 0; slot < SLOTS; slot++) {
            boolean isKept = sequences[slot] != NONE
                    && (sequences[slot] == newest || sequences[slot] == durable || sequences[slot] == syncing);
            if (!isKept && (oldest < 0 || sequences[slot] < sequences[oldest])) {
                oldest = slot;
            }
        }
        return oldest;
    }

    /** Accepts the pending slot after its batch is published. Idempotent. */
    public synchronized void accept() {
        if (pending >= 0) {
            newest = sequences[pending];
            pending = -1;
        }
    }

    /**
     * Empties the pending slot. Idempotent. The caller fsyncs the page before anything is appended; otherwise the slot
     * on the disk would come to count.
     */
    public synchronized void rollBack() {
        if (pending >= 0) {
            empty(pending);
            pending = -1;
        }
    }

    private void empty(int slot) {
        Mapped.INT.setRelease(page, at(slot) + SLOT_CHECKSUM, 0);
        sequences[slot] = NONE;
    }

    /** Retires the page: the producer is being deleted, and no later batch may use it. */
    public void retire() {
        retired = true;
    }

    /** Reverts {@link #retire}. */
    public void keep() {
        retired = false;
    }

    public boolean isRetired() {
        return retired;
    }

    // ---- called by the thread that fsyncs

    /** Whether this sequence, or a later one, is durable with its batch. */
    public boolean isDurable(long sequence) {
        return durable >= sequence;
    }

    /** Whether a slot may not be durable. Any thread. */
    public boolean isDirty() {
        return newest != durable;
    }

    /**
     * Chooses the newest slot with a batch that ends at or before {@code writing}, and protects it from being
     * overwritten. The caller then fsyncs the page, and the log up to there. If another flush begins and ends meanwhile,
     * it covers the slot of this one.
     *
     * @return false when the slot is durable already
     */
    public synchronized boolean beginSync(LongSupplier writing) {
        // Loaded under this object's lock: no slot can be stored between this load and the search.
        long published = writing.getAsLong();
        long chosen = durable;
        for (int slot = 0; slot < SLOTS; slot++) {
            if (positions[slot] <= published) {
                chosen = Math.max(chosen, sequences[slot]);
            }
        }
        if (chosen == durable) {
            return false;
        }
        syncing = chosen;
        return true;
    }

    /** Notes that the slot chosen by {@link #beginSync} is durable, with its batch. */
    public synchronized void endSync() {
        for (long sequence : sequences) {
            if (sequence == syncing && syncing != NONE) {
                durable = syncing; // a slot of an empty batch may have been rolled back
            }
        }
        syncing = NONE;
    }

    /** As {@link ConsumerCursors#rewrite}. */
    public void rewrite() throws IOException {
        file.write(ByteBuffer.wrap(identity), 0);
    }

    public void force() throws IOException {
        file.force();
    }

    // The garbage collector unmaps the page, as it does for consumers' pages.
    @Override
    public void close() throws IOException {
        file.close();
    }
}
