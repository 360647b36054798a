package org.mmapqueue.archive.files;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** The directories of a disk: an fsync of one may fail, and what the others have made durable is known. */
public final class FailingDirectories {
    private final Map<Path, Set<Path>> durable = new HashMap<>();
    private int left;
    private int fsyncs;
    private Runnable before = () -> {};

    /** Sets what runs before each fsync. */
    public void watch(Runnable beforeFsync) {
        before = beforeFsync;
    }

    /** The fsync of this number fails, counted from 1. */
    public void fail(int number) {
        left = number;
    }

    /** The fsyncs so far. */
    public int fsyncs() {
        return fsyncs;
    }

    /** The files of an archive on this disk, as another process has them. */
    public LocalFiles files(Path root) {
        return new LocalFiles(root, null, this::sync);
    }

    private void sync(Path directory) throws IOException {
        before.run();
        fsyncs++;
        if (--left == 0) {
            throw new IOException("the fsync of " + directory + " fails");
        }
        try (Stream<Path> entries = Files.list(directory)) {
            durable.put(directory, new HashSet<>(entries.toList()));
        }
    }

    /** Whether a loss of power leaves a file that was created below a directory. */
    public boolean isDurable(Path file, Path below) {
        Path at = file;
        while (!at.equals(below)) {
            if (!durable.getOrDefault(at.getParent(), Set.of()).contains(at)) {
                return false;
            }
            at = at.getParent();
        }
        return true;
    }
}
