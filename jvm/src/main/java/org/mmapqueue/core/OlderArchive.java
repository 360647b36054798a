package org.mmapqueue.core;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.consume.QueueArchive;
import org.mmapqueue.consume.ReadAhead;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.CauseText;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.Storage;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.OverflowFile;

/**
 * The archive into which the ring of a queue overflows, for the consumers of this process.
 *
 * @param whenLoaded called without a lock whenever a consumer may read on
 */
record OlderArchive(Path directory, MetaFields queue, Storage storage, Runnable whenLoaded) implements QueueArchive {
    @Override
    public boolean isThere() {
        return location().isPresent();
    }

    /** Whether the archive may have the record that the ring has not: then the error of the ring is none. */
    boolean mayHave(OutOfRangeException e, Log log) {
        return e.requested() < log.firstKnownOffset() && isThere();
    }

    private Optional<URI> location() {
        try {
            return OverflowFile.read(storage, directory);
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + directory + " could not be read: " + e, e);
        }
    }

    @Override
    public long firstOffset() {
        return inPartition(ArchivePartition::firstOffset);
    }

    @Override
    public OptionalLong find(Instant time) {
        return inPartition(partition -> partition.find(time));
    }

    /** Calls a function with the queue's partition, as it is now. */
    <T> T inPartition(Function<ArchivePartition, T> work) {
        try (OlderReader reader = reader(false)) {
            ArchivePartition partition = reader.partition();
            partition.refresh();
            return work.apply(partition);
        } catch (IOException | UncheckedIOException e) {
            throw new MmapQueueException(
                    "the archive into which the queue in " + directory + " overflows could not be read: "
                            + CauseText.of(e),
                    e);
        }
    }

    /** A reader, which opens nothing yet. */
    OlderReader reader(boolean skipsDamage) {
        return new OlderReader(this::open, directory, storage, queue.uuid(), skipsDamage);
    }

    @Override
    public ReadAhead readAhead(String consumer, boolean skipsDamage) {
        String name = directory.getFileName().toString();
        return new ReadAhead(
                reader(skipsDamage),
                "consumer " + consumer + " of the queue in " + directory,
                "mmapqueue-" + name + "-" + consumer + "-older",
                whenLoaded);
    }

    private ArchiveFiles open() throws IOException {
        URI archive = location()
                .orElseThrow(() -> new IOException(
                        directory.resolve(OverflowFile.NAME) + " is missing, which says where the archive is"));
        return Archives.files(archive, FileMode.like(directory.resolve(MetaPage.FILE_NAME)));
    }
}
