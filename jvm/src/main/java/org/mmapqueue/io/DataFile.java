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

    /** Where the file is. */
    Path path();

    /** Its length in bytes. */
    long size() throws IOException;

    /** Reads from {@code position} until {@code target} is full or the file ends; returns the bytes read. */
    int read(ByteBuffer target, long position) throws IOException;

    /** Writes all of {@code source} at {@code position}. */
    void write(ByteBuffer source, long position) throws IOException;

    /**
     * Writes zeros over bytes 0..{@code size}-1. These are ordinary file writes: they reserve the blocks, so that a full
     * disk is an IOException here instead of a SIGBUS at some later store into a mapping.
     *
     * @param blockSize bytes of a write, at most 2 MiB
     */
    void zeroFill(long size, int blockSize) throws IOException;

    /** Maps bytes 0..{@code size}-1, which must exist. The mapping outlives the file's being closed. */
    MappedByteBuffer map(long size, boolean writable) throws IOException;

    /** Fsyncs what was written or stored into mappings to the disk, with the length of the file. */
    void force() throws IOException;

    /** Fsyncs what was stored into a part of a mapping of this file. */
    void force(MappedByteBuffer mapping, int from, int length) throws IOException;

    @Override
    void close() throws IOException;
}
