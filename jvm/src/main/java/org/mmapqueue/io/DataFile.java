package org.mmapqueue.io;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;

/**
 * One open file of a queue. Safe for any number of threads. An interrupt of the calling thread neither fails nor cuts
 * short any call; it stays pending.
 */
public interface DataFile extends Closeable {

    Path path();

    /** Its length in bytes. */
    long size() throws IOException;

    /** Reads from {@code position} until {@code target} is full or the file ends; returns the bytes read. */
    int read(ByteBuffer target, long position) throws IOException;

    /** Writes all of {@code source} at {@code position}. */
    void write(ByteBuffer source, long position) throws IOException;

    /**
     * Writes zeros over bytes 0..{@code size}-1 by file writes, which reserve the blocks: a full disk is an IOException
     * here instead of a SIGBUS at a later store into a mapping.
     *
     * @param blockSize bytes of a write, at most 2 MiB
     */
    void zeroFill(long size, int blockSize) throws IOException;

    /**
     * Maps bytes 0..{@code size}-1, which must exist. The garbage collector unmaps an unused buffer. The
     * mapping stays valid when the file is closed.
     */
    MappedByteBuffer map(long size, boolean writable) throws IOException;

    /** Maps as {@link #map}, but the caller unmaps. */
    Mapping mapToUnmap(long size, boolean writable) throws IOException;

    /**
     * Fsyncs all writes, all stores into mappings, and the length of the file.
     *
     * @throws IOException when the fsync fails, or an earlier one of this object has failed: the kernel reports an
     *     error once, and may drop the pages
     */
    void force() throws IOException;

    /** Fsyncs all stores into a part of a mapping of this file; throws as {@link #force()} does. */
    void force(MappedByteBuffer mapping, int from, int length) throws IOException;
}
