package org.mmapqueue.tool;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.mmapqueue.support.Directories;

/** Damages a queue directory at random, in several places more often than in one. Used once. */
final class RandomDamage {
    private final Random random;
    private final Path at;
    private final List<String> done = new ArrayList<>();
    private boolean isMetaHit;

    RandomDamage(long seed, Path at) {
        this.random = new Random(seed * 7_919 + 1);
        this.at = at;
    }

    /** Damages the files; returns a line for each damage. */
    List<String> run() {
        // A kill may leave an unfinished file.
        List<Path> segments = Directories.segments(at).stream()
                .filter(each -> Directories.read(each).length > 64)
                .filter(each -> Directories.word(each, 0) != 0)
                .toList();
        Path same = segments.isEmpty() ? null : segments.get(random.nextInt(segments.size()));
        for (int i = random.nextInt(4); i >= 0 && same != null; i--) {
            // With several in one segment, the offsets of lost records are unknown.
            segment(random.nextBoolean() ? same : segments.get(random.nextInt(segments.size())));
        }
        if (random.nextInt(5) == 0) {
            meta();
        }
        if (random.nextInt(8) == 0) {
            page();
        }
        return done;
    }

    /** Whether the meta page is damaged: then the log end may be unknown. */
    boolean isMetaHit() {
        return isMetaHit;
    }

    private void segment(Path file) {
        int size = Files.exists(file) ? Directories.read(file).length : 0;
        if (size <= 64) {
            return;
        }
        int position = 64 + random.nextInt(size - 64);
        switch (random.nextInt(9)) {
            case 0, 1 -> {
                int bit = 1 << random.nextInt(8);
                note(file, position, "bit " + bit);
                Directories.flip(file, position, bit);
            }
            case 2, 3, 4 -> put(file, position, noise(Math.min(size - position, 1 + random.nextInt(300))), "noise");
            case 5 ->
                put(
                        file,
                        position / 512 * 512,
                        new byte[Math.min(512, size - position / 512 * 512)],
                        "a sector of zeros");
            case 6 ->
                put(file, position / 512 * 512, noise(Math.min(512, size - position / 512 * 512)), "a sector of noise");
            case 7 -> {
                int header = random.nextInt(64);
                note(file, header, "bit of the header");
                Directories.flip(file, header, 1 << random.nextInt(8));
            }
            default -> {
                if (random.nextInt(3) > 0) {
                    note(file, position, "cut");
                    Directories.resize(file, position);
                } else {
                    note(file, 0, "missing");
                    delete(file);
                }
            }
        }
    }

    private void meta() {
        Path file = at.resolve("meta.dat");
        isMetaHit = true;
        switch (random.nextInt(5)) {
            case 0 -> {
                note(file, 80, "cut");
                Directories.resize(file, 80);
            }
            case 1 -> {
                note(file, 0, "missing");
                delete(file);
            }
            case 2 -> put(file, 0, new byte[4096], "zeros");
            case 3 -> put(file, 512 * random.nextInt(2), noise(512), "a sector of noise");
            default -> {
                int position = 72 + random.nextInt(76);
                note(file, position, "bit of the facts");
                Directories.flip(file, position, 1 << random.nextInt(8));
            }
        }
    }

    private void page() {
        Path consumers = at.resolve("consumers");
        try (var files = Files.exists(consumers) ? Files.list(consumers) : List.<Path>of().stream()) {
            List<Path> pages = files.filter(each -> each.toString().endsWith(".dat"))
                    .sorted()
                    .toList();
            if (!pages.isEmpty()) {
                put(pages.get(random.nextInt(pages.size())), 0, noise(512), "a sector of noise");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] noise(int length) {
        byte[] noise = new byte[length];
        random.nextBytes(noise);
        return noise;
    }

    private void put(Path file, int position, byte[] bytes, String what) {
        if (Files.exists(file)) {
            note(file, position, what + " (" + bytes.length + ")");
            Directories.overwrite(file, position, bytes);
        }
    }

    private void note(Path file, int position, String what) {
        done.add(at.relativize(file) + ", byte " + position + ": " + what);
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
