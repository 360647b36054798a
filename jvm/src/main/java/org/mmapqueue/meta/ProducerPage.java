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
import org.mmapqueue.io.Storage;

/**
 * What a producer has pushed once, producers/&lt;name&gt;.dat; mapped by the process that writes.
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
 *   8  the offset behind the batch's last record (8)
 *  16  CRC32C of bytes 0..31 of the page and 0..15 of the slot (4); 0 = there is nothing in this slot
 * </pre>
 *
 * <p>A slot is stored before its batch is published, its checksum last, and counts when the log reaches its end. The
 * kernel may write any slot to the disk at any time, and its batch not, so three slots are never stored over: the
 * newest one, which a kill leaves; the newest one that is surely on the disk with its batch, which a loss of power
 * leaves; and the one that is just being brought there. That is why there are four.
 *
 * <p>Slots are stored by whoever holds the claim to the log's end, and looked through by whoever forces; this object
 * lets one of them in at a time.
 */
public final class ProducerPage implements Closeable {
    /** The directory of these pages in the queue directory. */
    public static final String DIRECTORY = "producers";
    /** What follows the producer's name in the file's name. */
    public static final String SUFFIX = ".dat";
    /** In place of a sequence: there is none. */
    public static final long NONE = -1;

    /** "MMAPQPR2" in ASCII, first byte lowest. */
    private static final long MAGIC = 0x3252_5051_5041_4D4DL;
    private static final int SECTOR = 512;
    private static final int SLOTS = 4;
    private static final int SLOT_END = 8;
    private static final int SLOT_CHECKSUM = 16;

    private final DataFile file;
    private final ByteBuffer page;
    private final byte[] identity = new byte[PageHeader.CHECKSUM];
    /** What the slots hold; NONE in one that is free. */
    private final long[] sequences = new long[SLOTS];
    private final long[] ends = new long[SLOTS];
    /** Where the log ends with the batch; 0 when it was there before the page was opened. */
    private final long[] positions = new long[SLOTS];
    /** The slot that is stored and not accepted, or -1. */
    private int pending = -1;
    private volatile long newest = NONE;
    private volatile long durable = NONE;
    private long forcing = NONE;
    private volatile boolean retired;

    private ProducerPage(DataFile file, MappedByteBuffer mapping, ByteBuffer image) {
        this.file = file;
        this.page = mapping;
        image.get(0, identity);
        Arrays.fill(sequences, NONE);
    }

    /** Makes the page of a producer that has pushed nothing; it appears whole or not at all. */
    public static void create(Storage storage, Path path, MetaFields queue, long createdAtMicros) throws IOException {
        ByteBuffer image = PageHeader.create(MAGIC, queue, createdAtMicros);
        NewFile.write(storage, path, image);
    }

    /**
     * Opens the page.
     *
     * @throws CorruptException when it is not whole, or of another queue, or a slot is damaged
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

    private void load(Path path, ByteBuffer image) {
        for (int slot = 0; slot < SLOTS; slot++) {
            int at = at(slot);
            int found = image.getInt(at + SLOT_CHECKSUM);
            if (found == 0) {
                continue;
            }
            long sequence = image.getLong(at);
            long end = image.getLong(at + SLOT_END);
            // A process that is killed leaves a checksum of 0, or the right one: it is stored first and last.
            if (found != slotChecksum(sequence, end) || sequence < 0 || end < 0) {
                throw new CorruptException(path.toString(), at, "the slot of sequence " + sequence + " and end offset "
                        + end + " has the checksum " + Integer.toHexString(found) + ", expected "
                        + Integer.toHexString(slotChecksum(sequence, end)) + " and neither below 0");
            }
            sequences[slot] = sequence;
            ends[slot] = end;
        }
    }

    private static int at(int slot) {
        return SECTOR * (1 + slot);
    }

    private int slotChecksum(long sequence, long end) {
        byte[] content = new byte[SLOT_CHECKSUM];
        Mapped.ARRAY_LONG.set(content, 0, sequence);
        Mapped.ARRAY_LONG.set(content, SLOT_END, end);
        CRC32C crc = new CRC32C();
        crc.update(identity, 0, PageHeader.CHECKSUM);
        crc.update(content, 0, SLOT_CHECKSUM);
        int value = (int) crc.getValue();
        return value == 0 ? -1 : value;
    }

    /**
     * Empties the slots of batches that are not in the log, and says that all others are on the disk, which the caller
     * has seen to. Before anything is appended: another record would make such a slot count.
     *
     * @param nextOffset the offset of the next record
     * @return how many there were
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

    /** The highest sequence whose batch is in the log, or {@link #NONE}. Any thread. */
    public long newest() {
        return newest;
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

    /** Whether all that the page holds is on the disk with its batches, and no batch is being stored. Any thread. */
    public synchronized boolean isIdle() {
        return pending < 0 && forcing == NONE && newest == durable;
    }

    // ---- for whoever holds the claim to the log's end

    /**
     * Stores a slot, for a batch that is about to be published.
     *
     * @param sequence higher than {@link #newest}
     * @param end the offset behind its last record
     * @param position where the log ends then
     */
    public synchronized void store(long sequence, long end, long position) {
        int slot = free();
        int checksum = slotChecksum(sequence, end);
        int at = at(slot);
        pending = slot;
        sequences[slot] = NONE;
        Mapped.INT.setRelease(page, at + SLOT_CHECKSUM, 0);
        Mapped.LONG.setRelease(page, at, sequence);
        Mapped.LONG.setRelease(page, at + SLOT_END, end);
        Mapped.INT.setRelease(page, at + SLOT_CHECKSUM, checksum);
        ends[slot] = end;
        positions[slot] = position;
        sequences[slot] = sequence;
    }

    private int free() {
        int slot = 0;
        while (sequences[slot] != NONE && (sequences[slot] == newest || sequences[slot] == durable
                || sequences[slot] == forcing)) {
            slot++;
        }
        return slot;
    }

    /** The batch of the slot that was stored last is published. Can be repeated. */
    public synchronized void accept() {
        if (pending >= 0) {
            newest = sequences[pending];
            pending = -1;
        }
    }

    /**
     * Empties the slot that was stored last, unless it was accepted. Can be repeated. To be forced before anything is
     * appended: the disk may have it, and would come to count it.
     */
    public synchronized void takeBack() {
        if (pending >= 0) {
            empty(pending);
            pending = -1;
        }
    }

    private void empty(int slot) {
        Mapped.INT.setRelease(page, at(slot) + SLOT_CHECKSUM, 0);
        sequences[slot] = NONE;
    }

    /** The producer is being forgotten: no batch may use the page any more. */
    public void retire() {
        retired = true;
    }

    /** Takes {@link #retire} back. */
    public void keep() {
        retired = false;
    }

    /** Whether the producer is being forgotten, or has been. */
    public boolean isRetired() {
        return retired;
    }

    // ---- for whoever forces

    /** Whether the slot of this sequence, or of a later one, is on the disk with its batch, and will not be lost. */
    public boolean isDurable(long sequence) {
        return durable >= sequence;
    }

    /** Whether there is a slot that may not be on the disk. Any thread. */
    public boolean isDirty() {
        return newest != durable;
    }

    /**
     * Chooses the newest slot whose batch ends before the position that {@code writing} gives, and keeps it: next, the
     * page and the log up to there are to be forced.
     *
     * @return false when it is on the disk already
     */
    public synchronized boolean beginForce(LongSupplier writing) {
        // Asked in here: while no slot can be stored, the newest one that is published by then is there.
        long published = writing.getAsLong();
        long chosen = durable;
        for (int slot = 0; slot < SLOTS; slot++) {
            if (positions[slot] <= published) {
                chosen = Math.max(chosen, sequences[slot]);
            }
        }
        forcing = chosen;
        return chosen != durable;
    }

    /** What {@link #beginForce} has chosen is on the disk, with its batch. */
    public synchronized void endForce() {
        for (long sequence : sequences) {
            if (sequence == forcing && forcing != NONE) {
                durable = forcing; // one without records may have been taken back
            }
        }
        forcing = NONE;
    }

    /** Forces the page. */
    public void force() throws IOException {
        file.force();
    }

    // The mapping is left to the garbage collector, as those of consumers' pages are.
    @Override
    public void close() throws IOException {
        file.close();
    }
}
