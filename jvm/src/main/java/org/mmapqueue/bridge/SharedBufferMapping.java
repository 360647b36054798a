package org.mmapqueue.bridge;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;

/** Maps the file that Python created for a shared buffer. */
final class SharedBufferMapping {
    private SharedBufferMapping() {}

    /**
     * Maps a file if both processes see the same file.
     *
     * @param path the file
     * @param size the file's length in bytes
     * @param nonce the file's first bytes, in hexadecimal digits
     * @return the memory; null when the file cannot be mapped, or has another length or other first bytes
     */
    static MappedByteBuffer map(String path, int size, String nonce) {
        MappedByteBuffer memory;
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            // Mapping beyond the end would extend the file by bytes without reserved blocks.
            if (file.size() != size) {
                return null;
            }
            memory = file.map(FileChannel.MapMode.READ_WRITE, 0, size);
        } catch (IOException e) {
            return null;
        }
        byte[] expected = HexFormat.of().parseHex(nonce);
        byte[] found = new byte[expected.length];
        memory.get(0, found);
        return Arrays.equals(expected, found) ? memory : null;
    }
}
