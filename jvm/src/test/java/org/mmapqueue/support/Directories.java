package org.mmapqueue.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Queue directories as files: copies, fingerprints, and changes that the queue does not make. */
public final class Directories {
    private Directories() {}

    /**
     * Copies a queue directory. From one that is open this gives what a killed process leaves. Lock files are left out:
     * closing a second descriptor of one would drop the lock of the process.
     */
    public static Path copy(Path from, Path to) {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Path target = to.resolve(from.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(target);
                } else if (!isLock(file)) {
                    copyFile(file, target);
                }
            }
            return to;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // An open queue may delete a file between its listing and its copy. A kill after that leaves none, either.
    private static void copyFile(Path from, Path to) throws IOException {
        try {
            Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
        } catch (NoSuchFileException e) {
            if (Files.exists(from)) {
                throw e;
            }
        }
    }

    /**
     * Copies the directory of an open queue without the segment files that are shorter than this: its background thread
     * is filling them. A kill just before leaves none of them.
     */
    public static Path copyOpen(Path from, Path to, int segmentSize) {
        copy(from, to);
        try {
            for (Path segment : segments(to)) {
                if (Files.size(segment) < segmentSize) {
                    Files.delete(segment);
                }
            }
            return to;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isLock(Path file) {
        String name = file.getFileName().toString();
        return name.equals("lock") || name.endsWith(".lock");
    }

    /** The SHA-256 of every file but the locks, by name. */
    public static Map<String, String> fingerprint(Path directory) {
        Map<String, String> sums = new TreeMap<>();
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.toList()) {
                if (Files.isRegularFile(file) && !isLock(file)) {
                    sums.put(directory.relativize(file).toString(), sha256(Files.readAllBytes(file)));
                }
            }
            return sums;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The segment files, by slot. */
    public static List<Path> segments(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith("_segment.dat"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static byte[] read(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The little-endian word at a position of a file. */
    /** Makes a queue in a directory one that the machine has lost its power over since. */
    public static Path losePower(Path queue) {
        putWord(queue.resolve("meta.dat"), 992, 0);
        return queue;
    }

    public static long word(Path file, int at) {
        return ByteBuffer.wrap(read(file)).order(ByteOrder.LITTLE_ENDIAN).getLong(at);
    }

    public static void putWord(Path file, int at, long value) {
        overwrite(
                file,
                at,
                ByteBuffer.allocate(8)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(0, value)
                        .array());
    }

    /** Changes bytes in place. */
    public static void overwrite(Path file, int at, byte... bytes) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), at);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Inverts bits of one byte. */
    public static void flip(Path file, int at, int bits) {
        overwrite(file, at, (byte) (read(file)[at] ^ bits));
    }

    public static void resize(Path file, long size) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            if (size > channel.size()) {
                channel.write(ByteBuffer.allocate(1), size - 1);
            } else {
                channel.truncate(size);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static void delete(Path directory) {
        try {
            Files.walkFileTree(directory, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.delete(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult postVisitDirectory(Path at, IOException failure) throws IOException {
                    Files.delete(at);
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
