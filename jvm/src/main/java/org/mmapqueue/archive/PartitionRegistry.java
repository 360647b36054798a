package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.ArchiveText;
import org.mmapqueue.archive.owner.ClaimFiles;
import org.mmapqueue.errors.ArchiveException;

/**
 * The files {@code partitions/<number>-<queue>.properties}. Number and queue are in the name, so that a damaged file
 * hides neither its own partition nor any other. Thread-safe.
 */
final class PartitionRegistry {
    private static final String DIRECTORY = "partitions";
    private static final Pattern NAME =
            Pattern.compile("([0-9]{5,9})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\\.properties");

    /** Numbers from which a queue chooses after it has lost one; each further loss multiplies them. */
    private static final int CHOICES = 4;

    private static final int MOST_CHOICES = 1 << 20;

    private final ArchiveFiles files;

    PartitionRegistry(ArchiveFiles files) {
        this.files = files;
    }

    /** The partitions, by number: one listing. */
    List<PartitionEntry> list() throws IOException {
        List<PartitionEntry> partitions = new ArrayList<>();
        for (String file : files.names(DIRECTORY)) {
            Matcher name = NAME.matcher(file);
            if (name.matches()) {
                partitions.add(new PartitionEntry(Integer.parseInt(name.group(1)), UUID.fromString(name.group(2))));
            }
        }
        partitions.sort(Comparator.comparingInt(PartitionEntry::id));
        return partitions;
    }

    /** The partition of a queue; empty if the queue is not registered. */
    Optional<PartitionEntry> find(UUID queue) throws IOException {
        return list().stream().filter(each -> each.queue().equals(queue)).findFirst();
    }

    /**
     * Reads a registration.
     *
     * @throws ArchiveException if the file is damaged, or missing
     */
    Registration read(PartitionEntry entry) throws IOException {
        ArchiveText text = ArchiveText.read(files, file(entry))
                .orElseThrow(() -> new ArchiveException(files.uri() + file(entry) + " is missing: the registration of"
                        + " queue " + entry.queue() + " as partition " + entry.id()));
        return new Registration(
                text.get("partition", Integer::parseInt), text.get("host"), text.get("created", Instant::parse));
    }

    /** Whether the registration of a partition exists; makes it durable. */
    boolean isThere(PartitionEntry entry) throws IOException {
        try {
            files.makeDurable(file(entry));
            return true;
        } catch (java.nio.file.NoSuchFileException e) {
            return false;
        }
    }

    /** Registers a partition whose number the caller has reserved; does nothing if it is registered. */
    void create(PartitionEntry entry, Registration registration) throws IOException {
        byte[] content = ArchiveText.encode(Map.of(
                "queue",
                entry.queue().toString(),
                "partition",
                Integer.toString(registration.local()),
                "host",
                registration.host(),
                "created",
                registration.created().toString()));
        files.create(file(entry), out -> out.write(content));
    }

    /** Reserves a number: stores a file that no other process can store, too. */
    @FunctionalInterface
    interface Reservation {
        /** Returns whether the number is reserved for the caller. */
        boolean take(int number) throws IOException;
    }

    /**
     * Reserves the next free number. After a loss against another process it chooses at random among more and more
     * numbers, so that the calls of many hosts which register at once stay few.
     */
    int reserve(Reservation reservation) throws IOException {
        int choices = 1;
        while (true) {
            int next = 1
                    + ClaimFiles.partitions(files).stream()
                            .mapToInt(Integer::intValue)
                            .max()
                            .orElse(-1);
            int number = next + ThreadLocalRandom.current().nextInt(choices);
            if (reservation.take(number)) {
                return number;
            }
            choices = choices == 1 ? CHOICES : Math.min(MOST_CHOICES, 8 * choices);
        }
    }

    static String file(PartitionEntry entry) {
        return String.format(Locale.ROOT, "%s/%05d-%s.properties", DIRECTORY, entry.id(), entry.queue());
    }
}
