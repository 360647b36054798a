package org.mmapqueue.io;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/**
 * A mapped part of a file that its owner unmaps. The owner guarantees that no thread uses the buffer during or after
 * {@link #unmap}: an access after it crashes the JVM, or throws IllegalStateException, depending on the JDK.
 *
 * @param bytes the mapped bytes
 * @param unmapping runs at {@link #unmap}
 */
public record Mapping(MappedByteBuffer bytes, Runnable unmapping) {
    private static final Mapper MAPPER = Mapper.ofThisJdk();

    /** Maps the first {@code size} bytes of a file. The mapping stays valid when the channel is closed. */
    public static Mapping of(FileChannel channel, FileChannel.MapMode mode, long size) throws IOException {
        return MAPPER.map(channel, mode, size);
    }

    /** Unmaps at once. Must be called at most once. */
    public void unmap() {
        unmapping.run();
    }
}
