package org.mmapqueue.archive;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.mmapqueue.archive.files.ArchiveFiles;

/** Files of an archive with calls that fail as a test says. */
class FailingFiles implements ArchiveFiles {
    private final ArchiveFiles files;
    private BooleanSupplier failsBefore = () -> false;
    private BooleanSupplier failsAfter = () -> false;

    FailingFiles(ArchiveFiles files) {
        this.files = files;
    }

    /** From now on a call throws when one of these is true, before it does anything, or when it has done it. */
    synchronized void fail(BooleanSupplier before, BooleanSupplier after) {
        failsBefore = before;
        failsAfter = after;
    }

    private interface Operation<T> {
        T run() throws IOException;
    }

    private <T> T call(Operation<T> operation) throws IOException {
        check(before());
        T found = operation.run();
        check(after());
        return found;
    }

    private synchronized BooleanSupplier before() {
        return failsBefore;
    }

    private synchronized BooleanSupplier after() {
        return failsAfter;
    }

    private static void check(BooleanSupplier fails) throws IOException {
        if (fails.getAsBoolean()) {
            throw new IOException("failed by the test");
        }
    }

    @Override
    public URI uri() {
        return files.uri();
    }

    @Override
    public List<Entry> list(String directory) throws IOException {
        return call(() -> files.list(directory));
    }

    @Override
    public List<String> directories(String directory) throws IOException {
        return call(() -> files.directories(directory));
    }

    @Override
    public Input open(String name) throws IOException {
        return call(() -> files.open(name));
    }

    @Override
    public void createRoot() throws IOException {
        call(() -> {
            files.createRoot();
            return files;
        });
    }

    @Override
    public void makeDurable(String name) throws IOException {
        call(() -> {
            files.makeDurable(name);
            return name;
        });
    }

    @Override
    public boolean create(String name, Content content) throws IOException {
        return call(() -> files.create(name, content));
    }

    @Override
    public void replace(String name, byte[] content) throws IOException {
        call(() -> {
            files.replace(name, content);
            return name;
        });
    }

    @Override
    public boolean delete(String name) throws IOException {
        return call(() -> files.delete(name));
    }

    @Override
    public boolean deleteDirectory(String directory) throws IOException {
        return call(() -> files.deleteDirectory(directory));
    }

    @Override
    public List<String> hosts(String name, long position, long length) throws IOException {
        return call(() -> files.hosts(name, position, length));
    }

    @Override
    public void close() {
        files.close();
    }
}
