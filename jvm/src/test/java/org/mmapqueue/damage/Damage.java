package org.mmapqueue.damage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.mmapqueue.support.Directories;

/**
 * One way to damage a directory.
 *
 * @param kind its line in the table
 * @param name unique: what it changes, and where
 * @param change damages a directory
 */
record Damage(String kind, String name, Consumer<Path> change) {
    private static final int HEADER = 64;
    private static final int META_USED = 976;
    private static final int PAGE_USED = 272;

    /** How much of a directory a sweep damages. */
    record Extent(int bitsOfHeaders, int bytesOfPayload, int lengths, int most) {
        /** Each bit of headers and pages, and 512 lengths of each file. */
        static final Extent FULL = new Extent(8, 600, 512, Integer.MAX_VALUE);
        /** A random sample; the system property damage.tries is its size. */
        static final Extent SHORT = new Extent(1, 8, 6, Integer.getInteger("damage.tries", 60));
    }

    /**
     * All ways to damage one directory.
     *
     * @param other another queue's directory
     * @param older the same queue's at an earlier time, or null
     */
    static List<Damage> all(Path whole, Path other, Path older, Extent extent, Random random) {
        List<Damage> all = new ArrayList<>();
        List<Path> files = files(whole);
        for (Path file : files) {
            bits(all, whole, file, extent, random);
            lengths(all, whole, file, extent);
            contents(all, whole, file, random);
            others(all, file, other, "another queue's");
            if (older != null) {
                others(all, file, older, "an older");
            }
        }
        swaps(all, files);
        return all;
    }

    private static List<Path> files(Path whole) {
        List<Path> files = new ArrayList<>();
        Directories.fingerprint(whole).keySet().forEach(each -> files.add(Path.of(each)));
        return files;
    }

    // ---- bits

    private static void bits(List<Damage> all, Path whole, Path file, Extent extent, Random random) {
        int length = Directories.read(whole.resolve(file)).length;
        String name = file.getFileName().toString();
        if (!name.endsWith("_segment.dat")) {
            int used = name.equals("meta.dat") ? META_USED : name.endsWith(".dat") ? PAGE_USED : length;
            flips(
                    all,
                    name.equals("meta.dat") ? "bit of meta.dat" : "bit of a consumer's file",
                    file,
                    0,
                    used,
                    extent.bitsOfHeaders);
            return;
        }
        flips(all, "bit of a segment's header", file, 0, HEADER, extent.bitsOfHeaders);
        for (int at : RecordPositions.of(whole.resolve(file))) {
            flips(all, "bit of a record's header", file, at, Math.min(length, at + 16), extent.bitsOfHeaders);
        }
        for (int i = 0; i < extent.bytesOfPayload; i++) {
            int at = HEADER + random.nextInt(length - HEADER);
            flips(all, "bit of a payload", file, at, at + 1, 1);
        }
    }

    private static void flips(List<Damage> all, String kind, Path file, int from, int to, int bits) {
        for (int at = from; at < to; at++) {
            for (int bit = 0; bit < bits; bit++) {
                int position = at;
                int mask = 1 << (bits == 8 ? bit : (at + bit) % 8);
                all.add(new Damage(
                        kind,
                        file + ", byte " + at + ", mask " + mask,
                        path -> Directories.flip(path.resolve(file), position, mask)));
            }
        }
    }

    // ---- files

    private static void lengths(List<Damage> all, Path whole, Path file, Extent extent) {
        int length = Directories.read(whole.resolve(file)).length;
        int step = Math.max(1, length / extent.lengths);
        for (int to = 0; to < length; to += step) {
            int cut = to;
            all.add(new Damage(
                    "file cut", file + " cut to " + to, path -> Directories.resize(path.resolve(file), cut)));
        }
        all.add(new Damage(
                "file cut", file + " 8 bytes longer", path -> Directories.resize(path.resolve(file), length + 8)));
        all.add(new Damage("file missing", file + " missing", path -> remove(path.resolve(file))));
    }

    private static void contents(List<Damage> all, Path whole, Path file, Random random) {
        int length = Directories.read(whole.resolve(file)).length;
        byte[] noise = new byte[length];
        random.nextBytes(noise);
        byte[] ones = new byte[length];
        Arrays.fill(ones, (byte) -1);
        put(all, file, "zeros", 0, new byte[length]);
        put(all, file, "noise", 0, noise);
        put(all, file, "ones", 0, ones);
        for (int at = 0; at + 512 <= length; at += 512) {
            put(all, file, "a sector of zeros", at, new byte[512]);
            byte[] sector = new byte[512];
            random.nextBytes(sector);
            put(all, file, "a sector of noise", at, sector);
        }
    }

    private static void put(List<Damage> all, Path file, String what, int at, byte[] bytes) {
        all.add(new Damage(
                "zeros or noise",
                file + ", byte " + at + ": " + what,
                path -> Directories.overwrite(path.resolve(file), at, bytes)));
    }

    private static void others(List<Damage> all, Path file, Path from, String whose) {
        Path source = from.resolve(file);
        if (Files.exists(source)) {
            byte[] bytes = Directories.read(source);
            all.add(new Damage(whose + " file", file + " is " + whose, path -> replace(path.resolve(file), bytes)));
        }
    }

    private static void swaps(List<Damage> all, List<Path> files) {
        for (Path one : files) {
            for (Path two : files) {
                if (one.compareTo(two) < 0) {
                    all.add(new Damage("files swapped", one + " and " + two, path -> {
                        byte[] bytes = Directories.read(path.resolve(one));
                        replace(path.resolve(one), Directories.read(path.resolve(two)));
                        replace(path.resolve(two), bytes);
                    }));
                }
            }
        }
    }

    private static void replace(Path file, byte[] bytes) {
        remove(file);
        try {
            Files.write(file, bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void remove(Path file) {
        try {
            Files.delete(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
