package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.errors.ArchiveException;

/** The files {@code partitions/<number>.properties}. A file is read again only if it was replaced. Thread-safe. */
final class PartitionRegistry {
    private static final String DIRECTORY = "partitions";
    private static final Pattern NAME = Pattern.compile("([0-9]{5,9})\\.properties");

    private record Known(ArchiveFiles.Entry file, PartitionEntry partition) {}

    private final ArchiveFiles files;
    private Map<String, Known> known = new HashMap<>();

    PartitionRegistry(ArchiveFiles files) {
        this.files = files;
    }

    /** The partitions, by number. */
    synchronized List<PartitionEntry> list() throws IOException {
        Map<String, Known> found = new HashMap<>();
        List<PartitionEntry> partitions = new ArrayList<>();
        for (ArchiveFiles.Entry file : files.list(DIRECTORY)) {
            Matcher name = NAME.matcher(file.name());
            if (!name.matches()) {
                continue;
            }
            Known before = known.get(file.name());
            if (before == null || !before.file().equals(file)) {
                Optional<ArchiveText> text = ArchiveText.read(files, DIRECTORY + "/" + file.name());
                if (text.isEmpty()) {
                    continue; // the entry was deleted since it was listed
                }
                before = new Known(file, read(Integer.parseInt(name.group(1)), text.get()));
            }
            found.put(file.name(), before);
            partitions.add(before.partition());
        }
        known = found;
        partitions.sort(Comparator.comparingInt(PartitionEntry::id));
        return partitions;
    }

    private static PartitionEntry read(int id, ArchiveText text) {
        return new PartitionEntry(
                id,
                text.get("queue", UUID::fromString),
                text.get("partition", Integer::parseInt),
                text.get("host"),
                text.get("created", Instant::parse));
    }

    /** See {@link Archive#register(UUID, int, String, boolean)}. */
    PartitionEntry register(UUID queue, int local, String host, boolean takeOver) throws IOException {
        if (local < 0 || host.isBlank()) {
            throw new IllegalArgumentException(
                    "local = " + local + ", host = '" + host + "'; expected 0 or more, and a name");
        }
        while (true) {
            int next = 0;
            for (PartitionEntry each : list()) {
                if (each.queue().equals(queue)) {
                    files.makeDurable(file(each.id()));
                    return registered(each, host, takeOver);
                }
                next = each.id() + 1;
            }
            PartitionEntry entry = new PartitionEntry(next, queue, local, host, Archive.now());
            byte[] content = content(entry);
            // Another process may have taken this number: then the next number is tried.
            files.create(file(entry.id()), out -> out.write(content));
        }
    }

    private PartitionEntry registered(PartitionEntry entry, String host, boolean takeOver) throws IOException {
        if (entry.host().equals(host)) {
            return entry;
        }
        if (!takeOver) {
            throw new ArchiveException("queue " + entry.queue() + " is partition " + entry.id() + " of " + files.uri()
                    + ", which host " + entry.host() + " ships; this host is " + host
                    + ". Two hosts with the same queue"
                    + " are two copies of one directory: only one of them can be shipped. If the disk has moved here,"
                    + " take the partition over");
        }
        PartitionEntry moved = new PartitionEntry(entry.id(), entry.queue(), entry.local(), host, entry.created());
        files.replace(file(entry.id()), content(moved));
        return moved;
    }

    private static byte[] content(PartitionEntry entry) {
        return ArchiveText.encode(Map.of(
                "queue", entry.queue().toString(),
                "partition", Integer.toString(entry.local()),
                "host", entry.host(),
                "created", entry.created().toString()));
    }

    private static String file(int id) {
        return String.format(Locale.ROOT, "%s/%05d.properties", DIRECTORY, id);
    }
}
