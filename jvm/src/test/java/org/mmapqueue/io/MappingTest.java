package org.mmapqueue.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Both ways to unmap, where the JDK has them. */
@Timeout(60)
class MappingTest {
    private static final int SIZE = 1 << 20;

    @TempDir
    Path temp;

    static Stream<Mapper> mappers() {
        return Stream.of(CleanerMapper.find(), ArenaMapper.find()).filter(Objects::nonNull);
    }

    private Path path() {
        return temp.resolve("file");
    }

    private Mapping map(Mapper mapper, FileChannel.MapMode mode) throws IOException {
        try (FileChannel channel = FileChannel.open(
                path(), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[] {1}), SIZE - 1);
            return mapper.map(channel, mode, SIZE);
        }
    }

    // Bytes of this process's mappings of the file.
    private long mappedBytes() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.endsWith(path().toString()))
                    .mapToLong(line -> {
                        String[] range = line.substring(0, line.indexOf(' ')).split("-");
                        return Long.parseUnsignedLong(range[1], 16) - Long.parseUnsignedLong(range[0], 16);
                    })
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @MethodSource("mappers")
    void storesReachTheFileAndUnmapEndsTheMapping(Mapper mapper) throws IOException {
        Mapping mapping = map(mapper, FileChannel.MapMode.READ_WRITE);
        MappedByteBuffer bytes = mapping.bytes();
        assertEquals(SIZE, mappedBytes());
        bytes.put(5, (byte) 9);
        Mapped.LONG.setRelease((ByteBuffer) bytes, 8, 0x0102_0304_0506_0708L);
        bytes.force(0, 4096);
        mapping.unmap();
        assertEquals(0, mappedBytes());
        byte[] stored = Files.readAllBytes(path());
        assertEquals(9, stored[5]);
        assertEquals(8, stored[8]);
        assertEquals(1, stored[SIZE - 1]);
    }

    @ParameterizedTest
    @MethodSource("mappers")
    void aReadOnlyMappingIsUnmapped(Mapper mapper) throws IOException {
        Mapping mapping = map(mapper, FileChannel.MapMode.READ_ONLY);
        assertEquals(1, mapping.bytes().get(SIZE - 1));
        assertThrows(RuntimeException.class, () -> mapping.bytes().put(0, (byte) 1));
        mapping.unmap();
        assertEquals(0, mappedBytes());
    }

    @ParameterizedTest
    @MethodSource("mappers")
    void eachMappingEndsByItself(Mapper mapper) throws IOException {
        Mapping first = map(mapper, FileChannel.MapMode.READ_WRITE);
        Mapping second = map(mapper, FileChannel.MapMode.READ_WRITE);
        assertEquals(2L * SIZE, mappedBytes());
        first.unmap();
        second.bytes().put(0, (byte) 4);
        assertEquals(SIZE, mappedBytes());
        second.unmap();
        assertEquals(0, mappedBytes());
        assertEquals(4, Files.readAllBytes(path())[0]);
    }

    @ParameterizedTest
    @MethodSource("mappers")
    void aFailedMapLeavesNothing(Mapper mapper) throws IOException {
        Files.write(path(), new byte[10]);
        try (FileChannel channel = FileChannel.open(path(), StandardOpenOption.READ)) {
            assertThrows(
                    RuntimeException.class,
                    () -> mapper.map(channel, FileChannel.MapMode.READ_WRITE, SIZE)
                            .unmap());
        }
        assertEquals(0, mappedBytes());
    }

    @Test
    void thisJdkHasAWay() throws IOException {
        assertNotNull(mappers().findFirst().orElse(null));
        Mapping mapping = map(Mapper.ofThisJdk(), FileChannel.MapMode.READ_WRITE);
        mapping.unmap();
        assertEquals(0, mappedBytes());
    }
}
