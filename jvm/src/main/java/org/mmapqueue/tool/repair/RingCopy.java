package org.mmapqueue.tool.repair;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/** Copies, creates, resizes and changes the files of a queue under repair, and fsyncs each. Has no state. */
record RingCopy(Storage storage) {
    private static final int BLOCK = 1 << 20;

    /** Copies {@code size} bytes of a file, with zeros after its end. */
    void copy(Path from, Path to, long size) throws IOException {
        NewFile.write(storage, to, true, target -> write(from, target, size));
    }

    private void write(Path from, DataFile target, long size) throws IOException {
        ByteBuffer block = ByteBuffer.allocate((int) Math.min(BLOCK, size));
        try (DataFile source = storage.open(from, Storage.Mode.READ)) {
            for (long at = 0; at < size; at += block.capacity()) {
                block.clear().limit((int) Math.min(block.capacity(), size - at));
                int count = source.read(block, at);
                for (int i = Math.max(0, count); i < block.limit(); i++) {
                    block.put(i, (byte) 0);
                }
                target.write(block.rewind(), at);
            }
        }
    }

    /** Sets the length of a segment file; creates the file if it is missing. */
    void fit(Path path, long size) throws IOException {
        if (!Files.exists(path)) {
            try (DataFile file = storage.open(path, Storage.Mode.CREATE)) {
                file.zeroFill(size, storage.blockSize(size));
                file.force();
            }
        } else if (Files.size(path) != size) {
            copy(path, path, size);
        }
    }

    /** Stores bytes, and fsyncs. */
    void store(Path path, long at, ByteBuffer bytes) throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.WRITE)) {
            file.write(bytes, at);
            file.force();
        }
    }

    /** Stores words by position, then fsyncs once. */
    void storeWords(Path path, Map<Integer, Long> words) throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.WRITE)) {
            for (Map.Entry<Integer, Long> each : words.entrySet()) {
                file.write(word(each.getValue()), each.getKey());
            }
            file.force();
        }
    }

    /** A word in the byte order of the on-disk format. */
    static ByteBuffer word(long value) {
        return ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(0, value);
    }
}
