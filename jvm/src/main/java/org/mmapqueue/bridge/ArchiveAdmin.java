package org.mmapqueue.bridge;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchiveConsumer;
import org.mmapqueue.archive.Gap;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.Registration;
import org.mmapqueue.archive.RunList;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.owner.Claim;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.config.Locations;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.json.Json;

/** Describes archives, and changes what neither shippers nor queries change, for py4j. Thread-safe. */
public final class ArchiveAdmin {
    private static final String KEY = "archive";
    /** The reason of a gap without a name. */
    private static final String MISSING = "missing";

    /** The maximum number of partitions that are read at once. */
    private static final int AT_ONCE = 16;

    private ArchiveAdmin() {}

    /** A partition, and the errors of what could not be read. */
    public record PartitionState(
            int partition,
            String host,
            String queue,
            int local,
            long firstOffset,
            long endOffset,
            int runs,
            long bytes,
            Optional<Instant> lastRun,
            Optional<String> error) {}

    /** Records of a partition that no file has, and why: "dropped", "lost" or "missing". */
    public record GapState(int partition, long first, long last, String reason) {}

    /** A consumer, and its committed offset by partition. */
    public record ConsumerState(String name, String label, Instant lastCommit, Map<Integer, Long> offsets) {}

    /** An archive. */
    public record ArchiveState(
            String uri,
            String id,
            List<PartitionState> partitions,
            List<ConsumerState> consumers,
            List<GapState> gaps) {}

    private record Described(PartitionState partition, List<GapState> gaps) {}

    /**
     * The state of an archive.
     *
     * @param location the archive's path or URI
     * @return {@link ArchiveState} as JSON
     * @throws MmapQueueException if there is no archive, or it cannot be read
     */
    public static String describe(String location) {
        return onArchive(location, archive -> {
            List<Described> partitions = describe(archive, archive.partitions());
            return Json.of(new ArchiveState(
                    archive.files().uri().toString(),
                    archive.id().toString(),
                    partitions.stream().map(Described::partition).toList(),
                    archive.consumers().stream().map(ArchiveAdmin::describe).toList(),
                    partitions.stream().flatMap(each -> each.gaps().stream()).toList()));
        });
    }

    // Each partition by itself: one that cannot be read hides no other one. Each takes several calls of the file
    // system, which wait for a server, not for a processor.
    private static List<Described> describe(Archive archive, List<PartitionEntry> partitions) {
        ExecutorService threads =
                Executors.newFixedThreadPool(Math.max(1, Math.min(AT_ONCE, partitions.size())), task -> {
                    Thread thread = new Thread(task, "mmapqueue-describe");
                    thread.setDaemon(true);
                    return thread;
                });
        try {
            List<Described> found = new ArrayList<>();
            for (Future<Described> each : threads.invokeAll(partitions.stream()
                    .<Callable<Described>>map(each -> () -> describe(archive, each))
                    .toList())) {
                found.add(each.get());
            }
            return found;
        } catch (ExecutionException e) {
            throw new MmapQueueException("the archive could not be described: " + e.getCause(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MmapQueueException("interrupted while the archive was read", e);
        } finally {
            threads.shutdownNow();
        }
    }

    private static Described describe(Archive archive, PartitionEntry partition) {
        Errors errors = new Errors();
        Optional<Registration> registration = errors.collect(() -> Optional.of(archive.registration(partition)));
        Optional<Claim> owner = errors.collect(() -> archive.owner(partition));
        Optional<RunList> listed = errors.collect(() -> {
            RunList runs = archive.runs(partition.id());
            runs.refresh();
            return Optional.of(runs);
        });
        long first = listed.map(RunList::firstOffset).orElse(0L);
        long end = listed.map(RunList::endOffset).orElse(0L);
        List<RunName> cover = errors.collect(() -> listed.isEmpty()
                        ? Optional.empty()
                        : Optional.of(listed.get().cover(first, end)))
                .orElse(List.<RunName>of());
        Optional<Instant> stored = errors.collect(() ->
                cover.isEmpty() ? Optional.empty() : stored(archive, partition.id(), cover.get(cover.size() - 1)));
        List<Gap> gaps = errors.collect(() -> listed.isEmpty()
                        ? Optional.empty()
                        : Optional.of(listed.get().gaps(first, end)))
                .orElse(List.<Gap>of());
        return new Described(
                new PartitionState(
                        partition.id(),
                        owner.map(Claim::host)
                                .orElse(registration.map(Registration::host).orElse("")),
                        partition.queue().toString(),
                        registration.map(Registration::local).orElse(-1),
                        first,
                        end,
                        cover.size(),
                        cover.stream().mapToLong(RunName::bytes).sum(),
                        stored,
                        errors.text()),
                gaps.stream().map(each -> describe(partition.id(), each)).toList());
    }

    /** The errors of a partition, each on the way to a part of its description. */
    private static final class Errors {
        private final Set<String> texts = new LinkedHashSet<>();

        private interface Part<T> {
            Optional<T> read() throws IOException;
        }

        <T> Optional<T> collect(Part<T> part) {
            try {
                return part.read();
            } catch (IOException | RuntimeException e) {
                texts.add(e instanceof MmapQueueException ? e.getMessage() : e.toString());
                return Optional.empty();
            }
        }

        Optional<String> text() {
            return texts.isEmpty()
                    ? Optional.empty()
                    : Optional.of(String.join("; ", texts).replace('\n', ' '));
        }
    }

    private static GapState describe(int partition, Gap gap) {
        String reason =
                gap.reason().map(each -> each.name().toLowerCase(Locale.ROOT)).orElse(MISSING);
        return new GapState(partition, gap.first(), gap.end() - 1, reason);
    }

    private static Optional<Instant> stored(Archive archive, int partition, RunName run) throws IOException {
        return archive.files().list(RunName.directory(partition, run.bucket())).stream()
                .filter(each -> each.name().equals(run.toString()))
                .map(each -> Instant.ofEpochMilli(each.modifiedMillis()))
                .findFirst();
    }

    private static ConsumerState describe(ArchiveConsumer consumer) {
        return new ConsumerState(
                consumer.name(), consumer.label(), consumer.updated(), new TreeMap<>(consumer.offsets()));
    }

    /**
     * Deletes a consumer of an archive, so that retention ignores it.
     *
     * @param location the archive's path or URI
     * @param name the consumer's name
     * @return 1; 0 if no consumer has this name
     * @throws MmapQueueException if there is no archive, or it cannot be written
     */
    public static int deleteConsumer(String location, String name) {
        return onArchive(location, archive -> archive.deleteConsumer(name) ? 1 : 0);
    }

    /**
     * Names records that no file has as lost.
     *
     * @param location the archive's path or URI
     * @param partition the partition's number
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the gaps that have got a name, as JSON
     * @throws MmapQueueException if there is no archive or no such partition, or it cannot be written
     */
    public static String markLost(String location, int partition, long from, long to) {
        return onArchive(
                location,
                archive -> Json.of(archive.markLost(partition, from, to).stream()
                        .map(each -> describe(
                                partition, new Gap(each.first(), each.end(), Optional.of(GapName.Reason.LOST))))
                        .toList()));
    }

    /**
     * Lets a directory replace the shipper of its queue: see {@link MmapQueue#takeOver}.
     *
     * @param location the archive's path or URI
     * @param directory the queue's directory
     * @return 1; 0 if nobody ships the queue into this archive
     */
    public static int takeOver(String location, String directory) {
        return MmapQueue.takeOver(Path.of(directory), Locations.of(KEY, location)) ? 1 : 0;
    }

    /**
     * Creates a queue that continues a partition of an archive: see {@link MmapQueue#adopt}.
     *
     * @param options as for {@link Bridge#open}
     * @param partition the partition's number
     * @return the offset of the queue's first record
     */
    public static long adopt(String options, int partition) {
        return MmapQueue.adopt(Bridge.config(options), partition);
    }

    /**
     * Lets a queue be shipped into another archive: see {@link MmapQueue#changeArchive}.
     *
     * @param options as for {@link Bridge#open}
     * @param takesOver 1 to replace the shipper there, else 0
     * @return 1; 0 if the queue is shipped into that archive already
     */
    public static int changeArchive(String options, int takesOver) {
        return MmapQueue.changeArchive(Bridge.config(options), takesOver == 1) ? 1 : 0;
    }

    private interface Work<T> {
        T on(Archive archive) throws IOException;
    }

    private static <T> T onArchive(String location, Work<T> work) {
        ArchiveFiles files = Archives.files(Locations.of(KEY, location));
        try {
            try (Archive archive = Archive.open(files)) {
                return work.on(archive);
            }
        } catch (IOException e) {
            throw new MmapQueueException("the archive in " + files.uri() + " could not be used: " + e, e);
        } finally {
            files.close();
        }
    }
}
