package org.mmapqueue.support;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.util.List;
import org.mmapqueue.archive.files.ArchiveFiles;

/**
 * The files of an archive that fail at a call: the n-th change throws, before it happened, after it, or with an
 * unfinished file left; every later call throws, too, as after a kill, until {@link #repair}.
 */
public final class FailingArchive implements ArchiveFiles {
    /** Where a change fails. */
    public enum Failure {
        BEFORE,
        HALF,
        AFTER
    }

    private final ArchiveFiles files;
    private long changesLeft = Long.MAX_VALUE;
    private Failure failure = Failure.BEFORE;
    private boolean failed;
    private long changes;
    private long listings;

    public FailingArchive(ArchiveFiles files) {
        this.files = files;
    }

    /** The change after this number of others fails. */
    public void failAfter(long others, Failure how) {
        changesLeft = others;
        failure = how;
        failed = false;
    }

    /** Nothing fails any more. */
    public void repair() {
        changesLeft = Long.MAX_VALUE;
        failed = false;
    }

    public boolean hasFailed() {
        return failed;
    }

    /** Changes so far. */
    public long changes() {
        return changes;
    }

    /** Listings of files and directories so far. */
    public long listings() {
        return listings;
    }

    private interface Change<T> {
        T run() throws IOException;
    }

    private void check() throws IOException {
        if (failed) {
            throw new IOException("the file system is gone");
        }
    }

    private <T> T change(Change<T> change, Change<T> half) throws IOException {
        check();
        changes++;
        if (changesLeft-- > 0) {
            return change.run();
        }
        failed = true;
        if (failure == Failure.HALF) {
            half.run();
        } else if (failure == Failure.AFTER) {
            change.run();
        }
        throw new IOException("the file system fails " + failure);
    }

    @Override
    public void createRoot() throws IOException {
        check();
        files.createRoot();
    }

    @Override
    public void makeDurable(String name) throws IOException {
        check();
        files.makeDurable(name);
    }

    @Override
    public boolean create(String name, Content content) throws IOException {
        return change(
                () -> files.create(name, content),
                () -> files.create(name, out -> {
                    content.writeTo(new HalfStream(out));
                    throw new IOException("half of the content is written");
                }));
    }

    @Override
    public void replace(String name, byte[] content) throws IOException {
        change(
                () -> {
                    files.replace(name, content);
                    return null;
                },
                () -> null);
    }

    @Override
    public boolean delete(String name) throws IOException {
        return change(() -> files.delete(name), () -> false);
    }

    @Override
    public boolean deleteDirectory(String directory) throws IOException {
        return change(() -> files.deleteDirectory(directory), () -> false);
    }

    @Override
    public URI uri() {
        return files.uri();
    }

    @Override
    public List<Entry> list(String directory) throws IOException {
        check();
        listings++;
        return files.list(directory);
    }

    @Override
    public List<String> directories(String directory) throws IOException {
        check();
        listings++;
        return files.directories(directory);
    }

    @Override
    public Input open(String name) throws IOException {
        check();
        return files.open(name);
    }

    @Override
    public List<String> hosts(String name, long position, long length) throws IOException {
        check();
        return files.hosts(name, position, length);
    }

    @Override
    public void close() {
        files.close();
    }

    /** Omits every second write. */
    private static final class HalfStream extends OutputStream {
        private final OutputStream out;
        private boolean even;

        HalfStream(OutputStream out) {
            this.out = out;
        }

        @Override
        public void write(int b) throws IOException {
            out.write(b);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            even = !even;
            if (even) {
                out.write(bytes, from, length);
            }
        }
    }
}
