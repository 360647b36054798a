package org.mmapqueue.bench.roofline;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.mmapqueue.io.Mapping;

/**
 * The files of a ring and their mappings. One thread fills, maps and unmaps; {@link Positions} publishes the mappings to
 * other threads. Another thread may {@link #sync}.
 */
final class Slots implements Closeable {
    // A folio is as large as the write that creates it, up to 2 MiB. One page fault maps a folio within one page table;
    // mappings of 2 MiB and more are aligned to page tables, smaller ones are not. A folio of 2 MiB has one entry, so
    // its
    // fsync interrupts the other processors once, and not once for each 4 KiB.
    private static final int SMALL_BLOCK = 128 << 10;
    private static final int LARGE_BLOCK = 2 << 20;
    // One store is enough for a folio; no block is smaller than this.
    private static final int TOUCH_STRIDE = 64 << 10;

    private final int segmentBytes;
    private final FileChannel[] channels;
    private final Mapping[] mappings;
    private final ByteBuffer zeros;
    // Guarded by the slot's channel: a mapping must not be unmapped during its fsync.
    private final boolean[] synced;

    /** Makes all files, full of zeros. */
    Slots(Path directory, int segmentBytes, int count) throws IOException {
        this.segmentBytes = segmentBytes;
        this.channels = new FileChannel[count];
        this.mappings = new Mapping[count];
        this.synced = new boolean[count];
        int block = segmentBytes < LARGE_BLOCK ? SMALL_BLOCK : LARGE_BLOCK;
        this.zeros = ByteBuffer.allocateDirect(Math.min(block, segmentBytes));
        Files.createDirectories(directory);
        for (int slot = 0; slot < count; slot++) {
            channels[slot] = FileChannel.open(
                    directory.resolve(slot + "_segment.dat"),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.READ,
                    StandardOpenOption.WRITE);
            fill(slot);
        }
    }

    void fill(int slot) throws IOException {
        for (long position = 0; position < segmentBytes; ) {
            zeros.clear().limit((int) Math.min(zeros.capacity(), segmentBytes - position));
            position += channels[slot].write(zeros, position);
        }
    }

    void map(int slot) throws IOException {
        if (mappings[slot] == null) {
            mappings[slot] = Mapping.of(channels[slot], FileChannel.MapMode.READ_WRITE, segmentBytes);
        }
    }

    /**
     * Takes the page faults of a new mapping of zeros. Not for small segments: they have one or two faults each, and their
     * preallocation is the bottleneck.
     */
    void touchIfLarge(int slot) {
        for (int at = 0; segmentBytes >= LARGE_BLOCK && at < segmentBytes; at += TOUCH_STRIDE) {
            mappings[slot].bytes().putLong(at, 0);
        }
    }

    void unmap(int slot) {
        synchronized (channels[slot]) {
            if (mappings[slot] != null) {
                mappings[slot].unmap();
                mappings[slot] = null;
            }
            synced[slot] = false;
        }
    }

    /**
     * Fsyncs a part of a segment. Only that part: the kernel write-protects every page that it cleans, so the next store
     * to each page faults.
     */
    void sync(int slot, int from, int length) throws IOException {
        synchronized (channels[slot]) {
            if (mappings[slot] != null) {
                mappings[slot].bytes().force(from, length);
                synced[slot] = true;
            } else {
                channels[slot].force(false);
            }
        }
    }

    /**
     * Replaces the mapping of a refilled slot that was fsynced: a new mapping faults once for each folio, the old one once
     * for each page.
     */
    void renewIfSynced(int slot) throws IOException {
        boolean renew;
        synchronized (channels[slot]) {
            renew = synced[slot];
        }
        if (renew) {
            unmap(slot);
            map(slot);
            touchIfLarge(slot);
        }
    }

    MappedByteBuffer mapping(int slot) {
        return mappings[slot] == null ? null : mappings[slot].bytes();
    }

    int count() {
        return channels.length;
    }

    @Override
    public void close() throws IOException {
        for (int slot = 0; slot < channels.length; slot++) {
            unmap(slot);
            channels[slot].close();
        }
    }
}
