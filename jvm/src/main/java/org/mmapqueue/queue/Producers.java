package org.mmapqueue.queue;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.ProducerPage;

/**
 * The producers whose batches are in the queue once, and what they have pushed last. For the process that writes; any
 * number of threads.
 */
final class Producers implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(Producers.class);
    /** Each one keeps a file open. */
    private static final int MOST = 1000;

    private final Storage storage;
    private final Path directory;
    private final MetaFields queue;
    /** Never changed, but replaced: the flusher goes through it without a lock. */
    private volatile TreeMap<String, ProducerPage> pages = new TreeMap<>();

    /** Opens the pages of all producers that the queue directory has. */
    Producers(Storage storage, Path queueDirectory, MetaFields queue) throws IOException {
        this.storage = storage;
        this.directory = queueDirectory.resolve(ProducerPage.DIRECTORY);
        this.queue = queue;
        boolean done = false;
        try {
            refuseLink();
            load();
            done = true;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    private void load() throws IOException {
        if (Files.isDirectory(directory)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + ProducerPage.SUFFIX)) {
                for (Path file : files) {
                    String name = file.getFileName().toString();
                    pages.put(name.substring(0, name.length() - ProducerPage.SUFFIX.length()),
                            ProducerPage.open(storage, file, queue));
                }
            }
        }
    }

    private void refuseLink() throws IOException {
        if (Files.isSymbolicLink(directory)) {
            throw new IOException(directory + " is a symbolic link; expected a directory, or nothing");
        }
    }

    /** Forces what the last writer may have left in memory: before its records are forced. */
    void force() throws IOException {
        if (!pages.isEmpty()) {
            storage.forceDirectory(directory); // whoever made a page may have died before it did
        }
        for (ProducerPage page : pages.values()) {
            page.force();
        }
    }

    /** Forgets the batches that are not in the log, which ends before {@code nextOffset}. */
    void start(long nextOffset) throws IOException {
        for (String name : pages.keySet()) {
            int lost = pages.get(name).start(nextOffset);
            if (lost > 0) {
                LOG.info("{}: {} batches of producer {} are not in the log, which ends at offset {}", directory, lost,
                        name, nextOffset);
            }
        }
    }

    /** The pages, as they are at the time of the call. */
    List<ProducerPage> pages() {
        TreeMap<String, ProducerPage> now = pages;
        return now.isEmpty() ? List.of() : List.copyOf(now.values());
    }

    /** The producers' names, in alphabetical order. */
    List<String> names() {
        return List.copyOf(pages.keySet());
    }

    /** The sequence that is in the queue already. */
    OptionalLong last(String name) {
        Names.check("producer", name);
        ProducerPage page = pages.get(name);
        long sequence = page == null ? ProducerPage.NONE : page.newest();
        return sequence == ProducerPage.NONE ? OptionalLong.empty() : OptionalLong.of(sequence);
    }

    /** The digest that is stored with a sequence; empty when none is, or when newer sequences have taken the slot. */
    Optional<BatchDigest> digest(String name, long sequence) {
        Names.check("producer", name);
        ProducerPage page = pages.get(name);
        long[] note = page == null ? null : page.note(sequence);
        return note == null || note.length == 0 ? Optional.empty() : Optional.of(new BatchDigest(note[0], note[1]));
    }

    /** A producer's page; it is made when it is not there. */
    ProducerPage page(String name) throws IOException {
        ProducerPage page = pages.get(name);
        return page != null && !page.isRetired() ? page : make(name);
    }

    private synchronized ProducerPage make(String name) throws IOException {
        Names.check("producer", name);
        ProducerPage page = pages.get(name);
        if (page != null) {
            return page;
        }
        if (pages.size() >= MOST) {
            throw new ConfigException("producer", name, "one of the " + MOST + " that there are, which is the most;"
                    + " forget one");
        }
        refuseLink();
        if (!Files.isDirectory(directory)) {
            storage.createDirectories(directory);
        }
        Path path = directory.resolve(name + ProducerPage.SUFFIX);
        ProducerPage.create(storage, path, queue, ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
        page = ProducerPage.open(storage, path, queue);
        TreeMap<String, ProducerPage> next = new TreeMap<>(pages);
        next.put(name, page);
        pages = next;
        return page;
    }

    /** Something that can not be done at any time. */
    interface Exclusively {
        void run(Flusher.Forcing work) throws IOException;
    }

    /**
     * Forgets a producer.
     *
     * @param retire sees to it that no batch uses its page from now on
     * @param exclusively runs something while nothing is being forced
     */
    synchronized void forget(String name, Consumer<ProducerPage> retire, Exclusively exclusively) throws IOException {
        Names.check("producer", name);
        ProducerPage page = pages.get(name);
        if (page == null) {
            throw new ConfigException("producer", name, "one of " + names());
        }
        retire.accept(page);
        try {
            exclusively.run(() -> delete(name, page));
        } finally {
            if (pages.get(name) == page) {
                page.keep();
            }
        }
    }

    private void delete(String name, ProducerPage page) throws IOException {
        storage.delete(directory.resolve(name + ProducerPage.SUFFIX));
        TreeMap<String, ProducerPage> next = new TreeMap<>(pages);
        next.remove(name);
        pages = next;
        page.close();
        storage.forceDirectory(directory);
    }

    @Override
    public synchronized void close() throws IOException {
        Closing.all(pages.values().toArray(new Closeable[0]));
        pages = new TreeMap<>();
    }
}
