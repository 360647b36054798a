package org.mmapqueue.bridge;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchiveConsumer;
import org.mmapqueue.archive.Gap;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.RunList;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.config.HostName;
import org.mmapqueue.config.Locations;
import org.mmapqueue.errors.MmapQueueException;

/** Describes archives, and changes what neither shippers nor queries change, for py4j. Thread-safe. */
public final class ArchiveAdmin {
    private static final String KEY = "archive";
    /** The reason of a gap without a name. */
    private static final String MISSING = "missing";
    /** Returned in place of a time. */
    private static final long NEVER = -1;

    private ArchiveAdmin() {}

    /**
     * The state of an archive.
     *
     * @param location the archive's path or URI
     * @return lines of fields, separated by {@link Bridge#SEPARATOR}: {@code archive}, UUID, URI; for each partition
     *     {@code partition}, number, host, queue's UUID, number in the queue's directory, log start, end, runs, bytes of
     *     records, time of the last run in ms or -1, and for each of its gaps {@code gap}, number of the partition, first
     *     offset, end, and {@code dropped}, {@code lost} or {@code missing}; for each consumer {@code consumer}, name, label, time of the last
     *     commit in ms, and each partition and offset
     * @throws MmapQueueException if there is no archive, or it cannot be read
     */
    public static String describe(String location) {
        return onArchive(location, false, archive -> {
            List<String> lines = new ArrayList<>();
            lines.add(Bridge.line(KEY, archive.id(), archive.files().uri()));
            for (PartitionEntry each : archive.partitions()) {
                lines.add(describe(archive, each));
            }
            for (ArchiveConsumer each : archive.consumers()) {
                lines.add(describe(each));
            }
            return String.join("\n", lines);
        });
    }

    private static String describe(Archive archive, PartitionEntry partition) throws IOException {
        RunList runs = archive.runs(partition.id());
        runs.refresh();
        long first = runs.firstOffset();
        long end = runs.endOffset();
        List<RunName> cover = runs.cover(first, end);
        List<String> lines = new ArrayList<>();
        lines.add(Bridge.line(
                "partition",
                partition.id(),
                partition.host(),
                partition.queue(),
                partition.local(),
                first,
                end,
                cover.size(),
                cover.stream().mapToLong(RunName::bytes).sum(),
                cover.isEmpty() ? NEVER : storedMillis(archive, partition.id(), cover.get(cover.size() - 1))));
        runs.gaps(first, end).forEach(each -> lines.add(describe(partition.id(), each)));
        return String.join("\n", lines);
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
        return onArchive(location, false, archive -> archive.deleteConsumer(name) ? 1 : 0);
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
                false,
                archive -> archive.markLost(partition, from, to).stream()
                        .map(each -> describe(
                                partition, new Gap(each.first(), each.end(), Optional.of(GapName.Reason.LOST))))
                        .collect(Collectors.joining("\n")));
    }

    /**
     * Makes a host the one that ships a queue.
     *
     * @param location the archive's path or URI; created if it does not exist
     * @param directory the queue's directory
     * @param local the partition's number in the directory of queues
     * @param host the host's name; empty for this machine's host name. The host that has shipped the queue until now
     *     must never ship it again
     * @return the number of the partition in the archive
     * @throws MmapQueueException if there is no queue, or the archive cannot be written
     */
    public static int takeOver(String location, String directory, int local, String host) {
        UUID queue = MmapQueue.idIn(Path.of(directory))
                .orElseThrow(() -> new MmapQueueException(
                        "there is no queue in " + directory + " that could be shipped, or one of format version 1"));
        return onArchive(
                location,
                true,
                archive ->
                        archive.register(queue, local, HostName.of(host), true).id());
    }

    private interface Work<T> {
        T on(Archive archive) throws IOException;
    }

    private static <T> T onArchive(String location, boolean creates, Work<T> work) {
        ArchiveFiles files = Archives.files(Locations.of(KEY, location));
        try {
            try (Archive archive = creates ? Archive.create(files) : Archive.open(files)) {
                return work.on(archive);
            }
        } catch (IOException e) {
            throw new MmapQueueException("the archive in " + files.uri() + " could not be used: " + e, e);
        } finally {
            files.close();
        }
    }
}
