package org.mmapqueue.bridge;

import java.io.IOException;
import java.nio.file.Path;
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
import java.util.stream.Collectors;
import java.util.stream.Stream;
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

/** Describes archives, and changes what neither shippers nor queries change, for py4j. Thread-safe. */
public final class ArchiveAdmin {
    private static final String KEY = "archive";
    /** The reason of a gap without a name. */
    private static final String MISSING = "missing";
    /** Returned in place of a time. */
    private static final long NEVER = -1;

    /** The most partitions that are read at once. */
    private static final int AT_ONCE = 16;

    private ArchiveAdmin() {}

    /**
     * The state of an archive.
     *
     * @param location the archive's path or URI
     * @return lines of fields, separated by {@link Bridge#SEPARATOR}: {@code archive}, UUID, URI; for each partition
     *     {@code partition}, number, host, queue's UUID, number in the queue's directory, log start, end, runs, bytes of
     *     records, time of the last run in ms or -1, errors of this partition or nothing, and for each of its gaps
     *     {@code gap}, number of the partition, first offset, end, and {@code dropped}, {@code lost} or {@code missing};
     *     for each consumer {@code consumer}, name, label, time of the last
     *     commit in ms, and each partition and offset
     * @throws MmapQueueException if there is no archive, or it cannot be read
     */
    public static String describe(String location) {
        return onArchive(location, archive -> {
            List<String> lines = new ArrayList<>();
            lines.add(Bridge.line(KEY, archive.id(), archive.files().uri()));
            lines.addAll(describe(archive, archive.partitions()));
            for (ArchiveConsumer each : archive.consumers()) {
                lines.add(describe(each));
            }
            return String.join("\n", lines);
        });
    }

    // Each partition by itself: one that cannot be read hides no other one. Each takes several calls of the file
    // system,
    // which wait for a server, not for a processor.
    private static List<String> describe(Archive archive, List<PartitionEntry> partitions) {
        ExecutorService threads =
                Executors.newFixedThreadPool(Math.max(1, Math.min(AT_ONCE, partitions.size())), task -> {
                    Thread thread = new Thread(task, "mmapqueue-describe");
                    thread.setDaemon(true);
                    return thread;
                });
        try {
            List<String> lines = new ArrayList<>();
            for (Future<String> each : threads.invokeAll(partitions.stream()
                    .<Callable<String>>map(each -> () -> describe(archive, each))
                    .toList())) {
                lines.add(each.get());
            }
            return lines;
        } catch (ExecutionException e) {
            throw new MmapQueueException("the archive could not be described: " + e.getCause(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MmapQueueException("interrupted while the archive was read", e);
        } finally {
            threads.shutdownNow();
        }
    }

    private static String describe(Archive archive, PartitionEntry partition) {
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
        long stored = errors.collect(() -> cover.isEmpty()
                        ? Optional.empty()
                        : Optional.of(storedMillis(archive, partition.id(), cover.get(cover.size() - 1))))
                .orElse(NEVER);
        List<Gap> gaps = errors.collect(() -> listed.isEmpty()
                        ? Optional.empty()
                        : Optional.of(listed.get().gaps(first, end)))
                .orElse(List.<Gap>of());
        List<String> lines = new ArrayList<>();
        lines.add(Bridge.line(
                "partition",
                partition.id(),
                owner.map(Claim::host)
                        .orElse(registration.map(Registration::host).orElse("")),
                partition.queue(),
                registration.map(Registration::local).orElse(-1),
                first,
                end,
                cover.size(),
                cover.stream().mapToLong(RunName::bytes).sum(),
                stored,
                errors));
        gaps.forEach(each -> lines.add(describe(partition.id(), each)));
        return String.join("\n", lines);
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

        @Override
        public String toString() {
            return String.join("; ", texts).replace('\n', ' ');
        }
    }

    private static String describe(int partition, Gap gap) {
        String reason =
                gap.reason().map(each -> each.name().toLowerCase(Locale.ROOT)).orElse(MISSING);
        return Bridge.line("gap", partition, gap.first(), gap.end(), reason);
    }

    private static long storedMillis(Archive archive, int partition, RunName run) throws IOException {
        return archive.files().list(RunName.directory(partition, run.bucket())).stream()
                .filter(each -> each.name().equals(run.toString()))
                .mapToLong(ArchiveFiles.Entry::modifiedMillis)
                .findFirst()
                .orElse(NEVER);
    }

    private static String describe(ArchiveConsumer consumer) {
        Stream<Object> fields = Stream.of(
                "consumer",
                consumer.name(),
                consumer.label(),
                consumer.updated().toEpochMilli());
        Stream<Object> offsets = new TreeMap<>(consumer.offsets())
                .entrySet().stream()
                        .flatMap((Map.Entry<Integer, Long> each) -> Stream.of(each.getKey(), each.getValue()));
        return Bridge.line(Stream.concat(fields, offsets).toArray());
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
     * @return lines of fields as those of {@link #describe} for gaps, one for each gap that has got a name; empty for none
     * @throws MmapQueueException if there is no archive or no such partition, or it cannot be written
     */
    public static String markLost(String location, int partition, long from, long to) {
        return onArchive(
                location,
                archive -> archive.markLost(partition, from, to).stream()
                        .map(each -> describe(
                                partition, new Gap(each.first(), each.end(), Optional.of(GapName.Reason.LOST))))
                        .collect(Collectors.joining("\n")));
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
     * Forgets the archive of a queue: see {@link MmapQueue#leaveArchive}.
     *
     * @param directory the queue's directory
     * @return 1; 0 if the queue was never shipped
     */
    public static int leaveArchive(String directory) {
        return MmapQueue.leaveArchive(Path.of(directory)) ? 1 : 0;
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
