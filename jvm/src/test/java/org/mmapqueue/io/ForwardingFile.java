package org.mmapqueue.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;

/** A file that forwards all calls to another one; subclasses override a call or two. */
public abstract class ForwardingFile implements DataFile {
    private final DataFile file;

    protected ForwardingFile(DataFile file) {
        this.file = file;
    }

    @Override
    public Path path() {
        return file.path();
    }

    @Override
    public long size() throws IOException {
        return file.size();
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
        return file.read(target, position);
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
        file.write(source, position);
    }

    @Override
    public void zeroFill(long size, int blockSize) throws IOException {
        file.zeroFill(size, blockSize);
    }

    @Override
    public MappedByteBuffer map(long size, boolean writable) throws IOException {
        return file.map(size, writable);
    }

    @Override
    public Mapping mapToUnmap(long size, boolean writable) throws IOException {
        return file.mapToUnmap(size, writable);
    }

    @Override
    public void force() throws IOException {
        file.force();
    }

    @Override
    public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
        file.force(mapping, from, length);
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
