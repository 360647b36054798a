package org.mmapqueue.spark.write.sink;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.Records;
import org.mmapqueue.io.Storage;
import org.mmapqueue.spark.common.Closing;
import org.mmapqueue.spark.write.staging.Manifest;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedFiles;
import org.mmapqueue.spark.write.staging.StagingArea;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A queue that queries write: open partitions and staging area. Thread-safe; commits run one at a time.
 *
 * <p>Rows for one partition are one idempotent push. For several partitions a manifest is written first. Each partition
 * stores the sequence of its push, so after a failure between two partitions the manifest is completed before any other
 * push. If no partition has received rows, the manifest is dropped.
 */
public final class SinkQueue implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(SinkQueue.class);
    static final String EPOCHS = "spark-";
    // All batch writes share one producer: the id of a batch write is not reused, so each would leave a page.
    private static final String BATCHES = EPOCHS + "batch";

    private final Path root;
    private final SinkDisk disk;
    private final Storage storage;
    private final StagingArea staging;
    private final ReentrantLock committing = new ReentrantLock();
    private final RealTimeProducers realTime = new RealTimeProducers();
    private volatile List<MmapQueue> partitions;

    /**
     * Opens the queue, and makes it if it does not exist.
     *
     * @param root the queue's directory
     * @param config the requested configuration
     * @throws IllegalArgumentException if the request does not match the existing queue
     */
    SinkQueue(Path root, SinkConfig config) {
        this(root, config, SinkDisk.REAL);
    }

    SinkQueue(Path root, SinkConfig config, SinkDisk disk) {
        this.root = root;
        this.disk = disk;
        this.storage = disk.storage();
        this.staging = new StagingArea(storage, root);
        this.partitions = SinkPartitions.open(root, config, disk.queues());
    }

    /** Checks the configuration of another write, and adds the partitions that it requests. */
    synchronized void adopt(SinkConfig config) {
        checkIdentity();
        List<MmapQueue> opened = SinkPartitions.open(root, config, disk.queues());
        List<MmapQueue> known = partitions; // other threads may be pushing to them
        List<MmapQueue> added = opened.subList(known.size(), opened.size());
        List<MmapQueue> all = new ArrayList<>(known);
        all.addAll(added);
        partitions = List.copyOf(all);
        Closing.all(opened.subList(0, known.size()), MmapQueue::close);
    }

    // A queue stays open when its directory is moved away; writes would go to the wrong queue.
    private void checkIdentity() {
        for (MmapQueue each : partitions) {
            Path directory = Path.of(each.config().asMap().get("queue_dir"));
            Optional<UUID> current = MmapQueue.idIn(directory);
            if (!current.equals(Optional.of(each.id()))) {
                throw new IllegalStateException("the queue in " + directory + " was replaced while it was written: "
                        + current.map(id -> "the present one has the id " + id).orElse("there is none now")
                        + ", the one that this process has open and was writing to has the id " + each.id()
                        + ". Nothing was written. It is closed some seconds after the last write has ended, when"
                        + " nothing else has it open");
            }
        }
    }

    /** The producer whose sequences are the epochs of a query. */
    public static String producer(String query) {
        return EPOCHS + query;
    }

    public int count() {
        return partitions.size();
    }

    /** Whether tasks fsync staged files: not for one partition, because the push fsyncs the rows. */
    public boolean syncsStagedFiles(boolean sync) {
        return sync && partitions.size() > 1;
    }

    /** The limit of a row in all partitions, in bytes. */
    public int maxEventSize() {
        return partitions.stream()
                .mapToInt(each -> Integer.parseInt(each.config().asMap().get("max_event_size")))
                .min()
                .orElseThrow();
    }

    public StagingArea staging() {
        return staging;
    }

    /** Completes the manifests of earlier writes, and deletes the files of dead ones. */
    void recover(Push push, Predicate<String> isAlive) throws IOException, InterruptedException {
        lock(push);
        try {
            carryThrough(push);
            staging.clean(isAlive);
        } finally {
            committing.unlock();
        }
    }

    /**
     * Pushes the rows of an epoch, unless they were pushed before.
     *
     * @param query the query's id
     * @param epoch the epoch's number
     * @param files the staged rows
     * @return whether this call has pushed them
     */
    public boolean commitEpoch(String query, long epoch, List<StagedFile> files, Push push)
            throws IOException, InterruptedException {
        lock(push);
        long start = System.nanoTime();
        try {
            carryThrough(push);
            Manifest manifest = Manifest.of(producer(query), epoch, files);
            long last = lastSequence(manifest.producer());
            boolean isNew = epoch > last;
            if (!isNew) {
                new RepeatedEpoch(root, partitions, query, manifest, last).check(push.failOnDataLoss());
                if (push.sync()) {
                    partitions.forEach(MmapQueue::flush); // it may have been pushed without sync
                }
            } else {
                new MissingEpochs(root, query, epoch, manifest.producer()).check(last, push.failOnDataLoss());
                if (files.isEmpty()) {
                    storeWithoutRows(manifest, push);
                } else {
                    begin(query, manifest, "epoch " + epoch + " of query " + query, push);
                }
            }
            tidy("epoch " + epoch + " of query " + query, () -> staging.deleteThrough(query, epoch));
            return isNew;
        } finally {
            push.figures().committed(System.nanoTime() - start);
            committing.unlock();
        }
    }

    /**
     * Pushes the rows of a batch write.
     *
     * @param query the write's id
     * @param files the staged rows
     */
    public void commitBatch(String query, List<StagedFile> files, Push push) throws IOException, InterruptedException {
        lock(push);
        long start = System.nanoTime();
        try {
            carryThrough(push);
            begin(query, Manifest.of(BATCHES, lastSequence(BATCHES) + 1, files), "the batch", push);
            tidy("the batch " + query, () -> staging.delete(query));
        } finally {
            push.figures().committed(System.nanoTime() - start);
            committing.unlock();
        }
    }

    /** The last sequence of a producer in any partition; -1 for none. */
    private long lastSequence(String producer) {
        return partitions.stream()
                .mapToLong(each -> each.lastSequence(producer).orElse(-1))
                .max()
                .orElse(-1);
    }

    // The sequence alone, so that a missing epoch is noticed.
    private void storeWithoutRows(Manifest manifest, Push push) throws InterruptedException {
        partitions
                .get(0)
                .pushOnce(
                        manifest.producer(),
                        manifest.sequence(),
                        manifest.digest(),
                        Records.of(List.of()),
                        Duration.ZERO,
                        push.sync());
    }

    private void lock(Push push) throws InterruptedException {
        if (committing.tryLock(0, TimeUnit.NANOSECONDS)) {
            return; // no other commit: a pause of this thread is not a wait for one
        }
        long start = System.nanoTime();
        committing.lockInterruptibly();
        push.figures().waitedForLock(System.nanoTime() - start);
    }

    /**
     * Begins a task of real-time mode, which pushes its rows itself. Tasks run beside each other and beside commits.
     *
     * @throws IllegalArgumentException if the queue has several partitions
     * @throws IllegalStateException if the queue has lost epochs of the query
     */
    public RealTimeTask beginTask(RealTimeTask.Id id, Push push) {
        return new RealTimeTask(root, RealTimeTask.only(root, partitions), realTime, id, push);
    }

    /**
     * Deletes the staged rows of an aborted write, also those of tasks that still run or have not reported. Files of a
     * manifest are kept until it is completed.
     */
    public void discard(String query) throws IOException {
        Path directory = staging.of(query);
        committing.lock();
        try {
            for (Path path : staging.manifests()) {
                if (path.getParent().equals(directory)) {
                    return;
                }
            }
            staging.delete(query);
        } finally {
            committing.unlock();
        }
    }

    private void begin(String query, Manifest manifest, String what, Push push)
            throws IOException, InterruptedException {
        Path directory = staging.of(query);
        SortedMap<Integer, List<StagedFile>> parts = manifest.byPartition();
        String fault = faultOf(directory, parts);
        if (fault != null) {
            throw new IOException(what + " cannot be pushed: " + fault);
        }
        if (parts.size() == 1) {
            new ManifestPusher(storage, partitions, directory, manifest, what, push).push(parts);
            return;
        }
        if (parts.isEmpty()) {
            return;
        }
        long deadline = deadline(push.timeout());
        for (int partition : parts.keySet()) {
            Room room = new Room(partitions.get(partition), parts.get(partition), what);
            push.figures().waitedForRoom(room.await(deadline, push.timeout()));
        }
        if (push.sync()) {
            staging.sync();
        }
        manifest.write(storage, directory, push.sync());
        try {
            new ManifestPusher(storage, partitions, directory, manifest, what, push).push(parts);
        } catch (RuntimeException | IOException | InterruptedException e) {
            giveUp(directory, manifest, what, e);
            throw e;
        }
        tidy(what, () -> storage.delete(manifest.path(directory)));
    }

    private interface Deletion {
        void run() throws IOException;
    }

    // Once the rows are in the queue, the write must not fail: the caller would write them again.
    private void tidy(String what, Deletion deletion) {
        try {
            deletion.run();
        } catch (IOException e) {
            LOG.warn(
                    "{} is in {}, and its staged files could not all be deleted, which a later write does: {}",
                    what,
                    root,
                    e.toString());
        }
    }

    static long deadline(Duration timeout) {
        return System.nanoTime() + Math.min(timeout.toNanos(), Long.MAX_VALUE / 2);
    }

    // Drops the manifest if no partition has received rows. Otherwise the next write completes it.
    private void giveUp(Path directory, Manifest manifest, String what, Exception cause) {
        try {
            if (!isKnownSomewhere(manifest.producer(), manifest.sequence())) {
                storage.delete(manifest.path(directory));
                return;
            }
        } catch (IOException | RuntimeException e) {
            cause.addSuppressed(e);
        }
        LOG.warn(
                "{} is in some partitions of {}; the next write pushes the others: {}",
                what,
                root,
                manifest.path(directory));
    }

    private String faultOf(Path directory, SortedMap<Integer, List<StagedFile>> parts) throws IOException {
        for (List<StagedFile> files : parts.values()) {
            int partition = files.get(0).partition();
            if (partition >= partitions.size()) {
                return "partition " + partition + " does not exist any more, " + root + " has " + partitions.size();
            }
            for (StagedFile file : files) {
                String fault = StagedFiles.fault(storage, directory, file);
                if (fault != null) {
                    return fault;
                }
            }
        }
        return null;
    }

    private boolean isKnownSomewhere(String producer, long sequence) {
        return partitions.stream().anyMatch(each -> isKnown(each, producer, sequence));
    }

    private static boolean isKnown(MmapQueue partition, String producer, long sequence) {
        OptionalLong last = partition.lastSequence(producer);
        return last.isPresent() && last.getAsLong() >= sequence;
    }

    private void carryThrough(Push push) throws IOException, InterruptedException {
        for (Path path : staging.manifests()) {
            carryThrough(path, push);
        }
    }

    private void carryThrough(Path path, Push push) throws IOException, InterruptedException {
        Path directory = path.getParent();
        Manifest manifest = Manifest.read(storage, path);
        if (manifest == null) {
            long sequence = Manifest.sequenceOf(path);
            if (isKnownSomewhere(EPOCHS + directory.getFileName(), sequence) || isKnownSomewhere(BATCHES, sequence)) {
                throw new IOException(path + " is incomplete, as after a loss of power, and some partitions may"
                        + " have received their rows: those of the others are lost; delete the file to continue");
            }
            LOG.warn("{} is incomplete, and none of its rows are in the queue: it is dropped", path);
            storage.delete(path);
            return;
        }
        SortedMap<Integer, List<StagedFile>> all = manifest.byPartition();
        SortedMap<Integer, List<StagedFile>> missing = new TreeMap<>(all);
        missing.keySet()
                .removeIf(partition -> partition < partitions.size()
                        && isKnown(partitions.get(partition), manifest.producer(), manifest.sequence()));
        if (missing.size() == all.size()) {
            LOG.info("no rows of {} are in the queue: it is dropped", path);
        } else if (!missing.isEmpty()) {
            String fault = faultOf(directory, missing);
            if (fault != null) {
                throw new IOException(path + " cannot be completed: " + fault + "; the rows for partitions "
                        + missing.keySet() + " are lost, those for the others are in the queue; delete " + path
                        + " to continue");
            }
            // Of a query that may have asked for sync, unlike this one.
            new ManifestPusher(storage, partitions, directory, manifest, "the rest of " + path, push.withSync())
                    .push(missing);
            LOG.info("{} is completed: partitions {}", path, missing.keySet());
        }
        storage.delete(path);
        for (StagedFile file : manifest.files()) {
            storage.delete(directory.resolve(file.name()));
        }
    }

    @Override
    public void close() {
        Closing.all(partitions, MmapQueue::close);
    }
}
