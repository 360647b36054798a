package org.mmapqueue.tool.scan;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.mmapqueue.io.DataFile;

/**
 * The bytes of a segment file, read through a window of fixed size. Bytes after the end of a short file are zeros. Not
 * thread-safe.
 */
public final class SegmentBytes implements Closeable {
    private static final int WINDOW = 64 * 1024;

    private final DataFile file;
    private final ByteBuffer window = ByteBuffer.allocate(WINDOW).order(ByteOrder.LITTLE_ENDIAN);
    private long start = -1;

    public SegmentBytes(DataFile file) {
        this.file = file;
    }

    /** The word at a multiple of 8. */
    public long getLong(int offset) throws IOException {
        return window.getLong(inWindow(offset));
    }

    void get(int offset, byte[] target, int to, int length) throws IOException {
        int done = 0;
        while (done < length) {
            int at = inWindow(offset + done);
            int piece = Math.min(length - done, WINDOW - at);
            window.get(at, target, to + done, piece);
            done += piece;
        }
    }

    /** The first bytes, in little-endian order. */
    ByteBuffer head(int length) throws IOException {
        byte[] head = new byte[length];
        get(0, head, 0, length);
        return ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
    }

    private int inWindow(int offset) throws IOException {
        long wanted = offset - offset % (long) WINDOW;
        if (wanted != start) {
            start = -1;
            window.clear();
            int count = file.read(window, wanted);
            for (int at = Math.max(0, count); at < WINDOW; at++) {
                window.put(at, (byte) 0);
            }
            start = wanted;
        }
        return (int) (offset - wanted);
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
