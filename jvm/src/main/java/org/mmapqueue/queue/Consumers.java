package org.mmapqueue.queue;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;

/**
 * All consumers of a queue: those that exist, on whose slowest one the space depends, and those that this process
 * owns. Any number of threads.
 *
 * <p>The process that writes makes new consumers. Each one, the default one too, is owned by whoever asks first, here or
 * in a process that has the queue open to read; the OS lock consumers/&lt;name&gt;.lock says who.
 */
final class Consumers implements Closeable {
    /** The consumer whose cursors are in meta.dat. */
    static final String DEFAULT = "default";
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,99}");
    private static final String LOCK_SUFFIX = ".lock";
    /** Places in memory that the writer may need at once, and one for a reader that follows a record. */
    private static final int PLACES_KEPT = 3;

    /** Makes readers of the log, and knows offsets by position. */
    interface Log {
        LogReader reader();

        long offsetAt(long position) throws IOException;

        /** The end of the last record. */
        long end();
    }

    private final Storage storage;
    private final Path directory;
    private final Settings settings;
    private final MetaPage meta;
    private final Map<String, ConsumerPage> pages = new HashMap<>();
    private final Map<String, ConsumerCore> open = new HashMap<>();
    private final CopyOnWriteArrayList<ConsumerCursors> cursors = new CopyOnWriteArrayList<>();
    private boolean stopped;

    /** Opens the pages of all consumers that the directory has. */
    Consumers(Storage storage, Path directory, Settings settings, MetaPage meta) throws IOException {
        this.storage = storage;
        this.directory = directory.resolve(ConsumerPage.DIRECTORY);
        this.settings = settings;
        this.meta = meta;
        cursors.add(meta);
        try {
            for (String name : stored()) {
                register(name);
            }
        } catch (IOException | RuntimeException e) {
            closePages();
            throw e;
        }
    }

    private List<String> stored() throws IOException {
        List<String> names = new ArrayList<>();
        if (Files.isDirectory(directory)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + ConsumerPage.SUFFIX)) {
                for (Path file : files) {
                    String name = file.getFileName().toString();
                    names.add(name.substring(0, name.length() - ConsumerPage.SUFFIX.length()));
                }
            }
        }
        return names;
    }

    private ConsumerPage register(String name) throws IOException {
        ConsumerPage page = ConsumerPage.open(storage, directory.resolve(name + ConsumerPage.SUFFIX), meta.fields());
        pages.put(name, page);
        cursors.add(page);
        return page;
    }

    /** The cursors of all consumers, the default one first. */
    List<ConsumerCursors> cursors() {
        return cursors;
    }

    /** The cursors of the named consumers. */
    List<ConsumerCursors> named() {
        List<ConsumerCursors> all = List.copyOf(cursors);
        return all.subList(1, all.size());
    }

    /** Everything before this position is acked by every consumer, and no new one will begin before it. */
    long reclaimable() {
        synchronized (cursors) {
            return slowest();
        }
    }

    /** Everything before this position is acked by every consumer. */
    long slowest() {
        long slowest = Long.MAX_VALUE;
        for (ConsumerCursors each : cursors) {
            slowest = Math.min(slowest, each.committed());
        }
        return slowest;
    }

    /** The segments in which this process reads; the default consumer's always. */
    long[] readingSegments() {
        long[] ids = new long[cursors.size()];
        int count = 0;
        for (ConsumerCursors each : cursors) {
            ids[count++] = settings.geometry().segmentOf(each.reading());
            if (count == ids.length) {
                break;
            }
        }
        return ids;
    }

    /** The consumer of this name, owned by this process from now on; made when it is not there. */
    synchronized ConsumerCore get(String name, StartAt start, Log log) throws IOException {
        if (stopped) {
            throw new ClosedException("the queue is closed");
        }
        ConsumerCore core = open.get(name);
        if (core != null) {
            return core;
        }
        check(name);
        checkPlaces();
        if (!exists(name) && Files.exists(directory.resolve(name + ConsumerPage.SUFFIX))) {
            register(name); // made by the writer since this process opened the queue
        }
        boolean isDefault = name.equals(DEFAULT);
        Closeable ownership = own(name);
        boolean done = false;
        try {
            ConsumerCursors page = isDefault ? meta : page(name, start, log);
            core = new ConsumerCore(name, page, log.reader(), log.reader(), log.offsetAt(page.committed()), ownership);
            open.put(name, core);
            done = true;
            return core;
        } finally {
            if (!done) {
                ownership.close();
            }
        }
    }

    private void check(String name) {
        if (!NAME.matcher(name).matches()) {
            throw new ConfigException("consumer", name, "1 to 100 letters, digits, '_', '-' or '.', no '.' or '-' first");
        }
        if (settings.geometry().version() == 1 && !name.equals(DEFAULT)) {
            throw new ConfigException("consumer", name, DEFAULT + " alone, in a directory of format version 1");
        }
    }

    private void checkPlaces() {
        if (open.size() + PLACES_KEPT >= settings.maxInMemSegments()) {
            throw new ConfigException("max_in_mem_segments", Integer.toString(settings.maxInMemSegments()),
                    "at least " + (open.size() + 1 + PLACES_KEPT) + " for " + (open.size() + 1)
                            + " consumers open at once");
        }
    }

    private boolean exists(String name) {
        return name.equals(DEFAULT) || pages.containsKey(name);
    }

    private Closeable own(String name) throws IOException {
        if (settings.geometry().version() == 1) {
            return () -> { }; // nobody can have it open beside the writer, and the directory is Satellite's
        }
        if (!exists(name)) {
            refuseToMake(name);
        }
        if (!Files.isDirectory(directory)) {
            storage.createDirectories(directory);
        }
        return ProcessLock.acquire(directory.resolve(name + LOCK_SUFFIX), "consumer " + name);
    }

    private void refuseToMake(String name) {
        if (settings.readOnly()) {
            throw new ConfigException("consumer", name, DEFAULT + " or one of " + pages.keySet()
                    + "; the process that writes the queue makes new ones");
        }
    }

    /** Makes a consumer and leaves it to others to own it; does nothing when it is there. */
    synchronized void create(String name, StartAt start, Log log) throws IOException {
        if (stopped) {
            throw new ClosedException("the queue is closed");
        }
        check(name);
        if (!exists(name)) {
            refuseToMake(name);
            if (!Files.isDirectory(directory)) {
                storage.createDirectories(directory);
            }
            page(name, start, log);
        }
    }

    private ConsumerPage page(String name, StartAt start, Log log) throws IOException {
        ConsumerPage page = pages.get(name);
        if (page != null) {
            return page;
        }
        // What the new consumer may want is held from here on, though its page is still to be made.
        ConsumerCursors held;
        synchronized (cursors) {
            held = new Hold(slowest());
            cursors.add(held);
        }
        try {
            long position = start == StartAt.LATEST ? log.end() : held.committed();
            ConsumerPage.create(storage, directory.resolve(name + ConsumerPage.SUFFIX), meta.fields(),
                    System.currentTimeMillis() * 1000, position);
            return register(name);
        } finally {
            cursors.remove(held);
        }
    }

    /** Keeps the space from a position on while the page of a consumer is made. */
    private record Hold(long committed) implements ConsumerCursors {
        @Override
        public void committed(long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long reading() {
            return committed;
        }

        @Override
        public void reading(long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void force() {
            // Nothing is stored.
        }
    }

    /** Closes the consumers that are open, once the calls under way have ended; none can be opened any more. */
    synchronized void stop() throws IOException {
        stopped = true;
        Closing.all(open.values().toArray(new Closeable[0]));
        open.clear();
    }

    private void closePages() throws IOException {
        Closing.all(pages.values().toArray(new Closeable[0]));
        pages.clear();
    }

    @Override
    public synchronized void close() throws IOException {
        stop();
        closePages();
    }
}
