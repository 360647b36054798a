package org.mmapqueue.registry;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.config.Names;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.ProducerPage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The idempotent producers, and the last sequence of each. For the writing process; safe for any number of threads.
 *
 * <p>No producer expires: it may retry a batch after any time, and without its page the batch would be stored twice.
 * There may be any number of producers. At most {@value #MOST_OPEN} have their pages open; the others are parked: their
 * pages are durable and closed. A parked page is opened again when its producer is asked for.
 */
public final class Producers implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(Producers.class);
    /** Each open page keeps a file open. More than this are open only while more producers push at the same moment. */
    private static final int MOST_OPEN = 1000;

    private final Storage storage;
    private final Path directory;
    private final MetaFields queue;
    private final int mostOpen;
    /** The open pages. The map is never changed, but replaced: the flusher iterates over it without a lock. */
    private volatile TreeMap<String, ProducerPage> pages = new TreeMap<>();
    /** Names of producers with a closed page; guarded by this object's monitor, as is the next field. */
    private final TreeSet<String> parked = new TreeSet<>();

    private boolean closed;

    /** Opens the pages of all producers that the queue directory has. */
    public Producers(Storage storage, Path queueDirectory, MetaFields queue) throws IOException {
        this(storage, queueDirectory, queue, MOST_OPEN);
    }

    Producers(Storage storage, Path queueDirectory, MetaFields queue, int mostOpen) throws IOException {
        this.mostOpen = mostOpen;
        this.storage = storage;
        this.directory = queueDirectory.resolve(ProducerPage.DIRECTORY);
        this.queue = queue;
        Listing.refuseLink(directory);
        try {
            load();
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    private void load() throws IOException {
        for (String name : Listing.inside(directory, ProducerPage.SUFFIX).keySet()) {
            ProducerPage page = open(name);
            if (pages.size() < mostOpen) {
                pages.put(name, page);
            } else {
                page.close();
                parked.add(name);
            }
        }
    }

    private ProducerPage open(String name) throws IOException {
        return ProducerPage.open(storage, file(name), queue);
    }

    /**
     * Fsyncs the slots that the last writer may have left in memory. Called before that writer's records are fsynced.
     */
    public synchronized void force() throws IOException {
        if (!pages.isEmpty()) {
            storage.syncDirectory(directory); // the process that created a page may have died before its fsync
        }
        onEachPage((name, page) -> {
            page.rewrite();
            page.force();
        });
    }

    /** Removes the batches that are not in the log, which ends before {@code nextOffset}. */
    public synchronized void start(long nextOffset) throws IOException {
        onEachPage((name, page) -> start(name, page, nextOffset));
    }

    private interface PageWork {
        void run(String name, ProducerPage page) throws IOException;
    }

    private void onEachPage(PageWork work) throws IOException {
        for (Map.Entry<String, ProducerPage> each : pages.entrySet()) {
            work.run(each.getKey(), each.getValue());
        }
        for (String name : parked) {
            try (ProducerPage page = open(name)) {
                work.run(name, page);
            }
        }
    }

    private void start(String name, ProducerPage page, long nextOffset) throws IOException {
        int lost = page.start(nextOffset);
        if (lost > 0) {
            LOG.info(
                    "{}: {} batches of producer {} are not in the log, which ends at offset {}",
                    directory,
                    lost,
                    name,
                    nextOffset);
        }
    }

    private Path file(String name) {
        return directory.resolve(name + ProducerPage.SUFFIX);
    }

    /** The open pages at the time of the call; parked pages need no fsync. */
    public List<ProducerPage> pages() {
        TreeMap<String, ProducerPage> now = pages;
        return now.isEmpty() ? List.of() : List.copyOf(now.values());
    }

    /** Whether a page is that of a producer, neither parked nor forgotten. */
    public boolean isOpen(String name, ProducerPage page) {
        return pages.get(name) == page;
    }

    /** The producers' names, in alphabetical order. */
    public synchronized List<String> names() {
        checkOpen();
        TreeSet<String> all = new TreeSet<>(parked);
        all.addAll(pages.keySet());
        return List.copyOf(all);
    }

    /**
     * The parts of the writer that are needed before a page may be closed or deleted.
     *
     * @param retire ensures that no later append uses a page
     */
    public record Host(Consumer<ProducerPage> retire, Flusher flusher) {}

    /** The highest sequence of a producer that is in the queue; empty for none. */
    public OptionalLong last(String name, Host host) throws IOException {
        ProducerPage page = known(name, host);
        long sequence = page == null ? ProducerPage.NONE : page.newest();
        return sequence == ProducerPage.NONE ? OptionalLong.empty() : OptionalLong.of(sequence);
    }

    /**
     * The digest stored with a sequence; empty when it was pushed without one, or when newer sequences have overwritten
     * its slot.
     */
    public Optional<BatchDigest> digest(String name, long sequence, Host host) throws IOException {
        ProducerPage page = known(name, host);
        long[] note = page == null ? null : page.note(sequence);
        return note == null || note.length == 0 ? Optional.empty() : Optional.of(new BatchDigest(note[0], note[1]));
    }

    // The page of a known producer; null for a new one.
    private ProducerPage known(String name, Host host) throws IOException {
        Names.check("producer", name);
        ProducerPage page = pages.get(name);
        return page != null ? page : unpark(name, host);
    }

    /** The page of a producer, which is created if it does not exist. */
    public ProducerPage page(String name, Host host) throws IOException {
        ProducerPage page = pages.get(name);
        return page != null && !page.isRetired() ? page : make(name, host);
    }

    private synchronized ProducerPage make(String name, Host host) throws IOException {
        Names.check("producer", name);
        ProducerPage page = unpark(name, host);
        if (page != null) {
            return page;
        }
        makeRoom(host);
        Listing.refuseLink(directory);
        if (!Files.isDirectory(directory)) {
            storage.createDirectories(directory);
        }
        ProducerPage.create(storage, file(name), queue, ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
        return opened(name);
    }

    // The page of a known producer; null for a new one.
    private synchronized ProducerPage unpark(String name, Host host) throws IOException {
        checkOpen();
        ProducerPage page = pages.get(name);
        if (page != null || !parked.contains(name)) {
            return page;
        }
        makeRoom(host);
        page = opened(name);
        parked.remove(name);
        return page;
    }

    // A closed set of pages is empty: no answer may come from it.
    private void checkOpen() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
    }

    private ProducerPage opened(String name) throws IOException {
        ProducerPage page = open(name);
        // Before another thread finds it. A page is parked only when all of its batches are in the log.
        page.start(Long.MAX_VALUE);
        TreeMap<String, ProducerPage> next = new TreeMap<>(pages);
        next.put(name, page);
        pages = next;
        return page;
    }

    // Parks the producer with the oldest last batch among the pages that are not dirty; if all are dirty, fsyncs
    // them first.
    private void makeRoom(Host host) throws IOException {
        for (int round = 0; pages.size() >= mostOpen && round < 2; round++) {
            if (round > 0) {
                host.flusher.flush();
            }
            List<String> oldestFirst = new ArrayList<>(pages.keySet());
            Map<String, Long> ends = new HashMap<>();
            pages.forEach((name, page) -> ends.put(name, page.newestEnd()));
            oldestFirst.sort(Comparator.comparing(ends::get));
            for (String name : oldestFirst) {
                if (pages.get(name).isIdle() && park(name, pages.get(name), host)) {
                    return;
                }
            }
        }
    }

    private boolean park(String name, ProducerPage page, Host host) throws IOException {
        withdraw(name, page, host, () -> {
            if (page.isIdle()) { // a batch may have been pushed before the page was retired
                parked.add(name);
                remove(name);
                page.close();
            }
        });
        return !pages.containsKey(name);
    }

    // Runs the work while no append and no flush uses the page. A page that the work has not removed stays in use.
    private void withdraw(String name, ProducerPage page, Host host, Flusher.Syncing work) throws IOException {
        host.retire.accept(page);
        try {
            host.flusher.exclusively(work);
        } finally {
            if (pages.get(name) == page) {
                page.keep();
            }
        }
    }

    private void remove(String name) {
        TreeMap<String, ProducerPage> next = new TreeMap<>(pages);
        next.remove(name);
        pages = next;
    }

    /** Deletes a producer. */
    public synchronized void forget(String name, Host host) throws IOException {
        Names.check("producer", name);
        ProducerPage page = unpark(name, host);
        if (page == null) {
            throw new ConfigException("producer", name, "one of " + names());
        }
        withdraw(name, page, host, () -> delete(name, page));
    }

    private void delete(String name, ProducerPage page) throws IOException {
        storage.delete(file(name));
        remove(name);
        page.close();
        storage.syncDirectory(directory);
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        Closing.all(pages.values().toArray(new Closeable[0]));
        pages = new TreeMap<>();
        parked.clear();
    }
}
