package org.mmapqueue.core;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.RecordSink;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.consume.OlderChunk;
import org.mmapqueue.consume.OlderRecords;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.CauseText;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;

/**
 * Reads what the ring of a queue has given up, in the queue's archive: in chunks for a consumer, or record by record. One
 * thread at a time.
 */
final class OlderReader implements OlderRecords {
    /** Offsets for which runs are listed at once. */
    private static final long WINDOW = 10_000_000;

    /** Opens the files of the archive. */
    interface Connection {
        ArchiveFiles open() throws IOException;
    }

    private final Connection connection;
    private final Path directory;
    private final Storage storage;
    private final UUID queue;
    private final boolean skipsDamage;
    private @Nullable Archive archive;
    private int partition;
    private @Nullable ArchiveReader reader;
    /** The offset of the next record, while no reader is open. */
    private long position;

    private final ReusedArrays arrays = new ReusedArrays();
    private final List<DamagedRange> passed = new ArrayList<>();
    private long passedRecords;

    OlderReader(Connection connection, Path directory, Storage storage, UUID queue, boolean skipsDamage) {
        this.connection = connection;
        this.directory = directory;
        this.storage = storage;
        this.queue = queue;
        this.skipsDamage = skipsDamage;
    }

    @Override
    public OlderChunk read(long from) throws IOException {
        boolean isRead = false;
        try {
            OlderChunk chunk = chunk(from);
            isRead = true;
            return chunk;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        } catch (CorruptException | OutOfRangeException | ArchiveException e) {
            checkSame();
            throw e;
        } catch (MmapQueueException e) {
            throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getMessage(), e);
        } finally {
            if (!isRead) {
                close();
            }
        }
    }

    // ---- one record after the other, in the caller's thread

    /** Moves to a record. */
    void seek(long offset) {
        closeReader();
        position = offset;
    }

    /** The offset of the next record. */
    long offset() {
        ArchiveReader open = reader;
        return open == null ? position : open.offset();
    }

    /**
     * Reads the next records, as {@code RecordReader.read}.
     *
     * @param to the offset after the last record
     * @return the number of records; 0 if the next one is not in the archive yet, or none is left
     */
    int read(long to, int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        try {
            while (offset() < to) {
                ArchiveReader at = readerAt(offset());
                int most = (int) Math.min(maxRecords, to - at.offset());
                long before = at.offset();
                int count = own ? at.read(most, maxBytes, owned(handler)) : at.read(most, maxBytes, handler);
                if (count > 0 || at.offset() == before) {
                    return count;
                }
            }
            return 0;
        } catch (IOException | UncheckedIOException e) {
            throw unavailable("could not be read: " + CauseText.of(e), e);
        } catch (CorruptException | OutOfRangeException | ArchiveException e) {
            try {
                checkSame();
            } catch (IOException other) {
                throw unavailable("could not be read: " + CauseText.of(other), other);
            }
            throw e;
        }
    }

    // Records are damaged, deleted or missing only if the archive is not away, and no other one is in its place.
    private void checkSame() throws IOException {
        Archive open = archive;
        if (open != null) {
            open.checkIdentity();
        }
    }

    /** The exception to throw if the next record cannot be read at present; {@code why} says what the archive does. */
    MmapQueueException unavailable(String why, @Nullable Throwable cause) {
        Archive open = archive;
        return new MmapQueueException(
                "record " + offset() + " of the queue in " + directory + " is in the archive"
                        + (open == null ? "" : " in " + open.files().uri()) + ", which " + why,
                cause);
    }

    private static RecordSink owned(MessageHandler handler) {
        return (offset, timestamp, data) -> handler.onMessage(offset, timestamp, data, 0, data.length, 0);
    }

    /** The damaged ranges that were skipped. */
    List<DamagedRange> damagedRanges() {
        ArchiveReader open = reader;
        List<DamagedRange> all = new ArrayList<>(passed);
        if (open != null) {
            all.addAll(open.damagedRanges());
        }
        return all;
    }

    /** The number of records that were skipped because of damage, or because no file has them. */
    long damagedRecords() {
        ArchiveReader open = reader;
        return passedRecords + (open == null ? 0 : open.lost() + open.missing());
    }

    // ---- chunks

    private OlderChunk chunk(long from) throws IOException {
        ArchiveReader at = readerAt(from);
        OlderChunk.Builder chunk = new OlderChunk.Builder(from);
        long missingBefore = at.missing();
        Holes holes = new Holes(from);
        at.readTogether((offset, timestamp, data, start, length, attempts) -> {
            holes.next(offset);
            arrays.lend(data);
            chunk.add(offset, timestamp, data, start, length);
        });
        long end = at.offset();
        if (end == from) {
            throw new IOException("the archive in " + archive.files().uri() + " does not have record " + from + " yet");
        }
        holes.next(end);
        boolean isWhole = at.missing() == missingBefore;
        for (DamagedRange damaged : at.damagedRanges()) {
            if (damaged.lastOffset() >= from) {
                chunk.skip(damaged);
                isWhole = false;
            }
        }
        if (at.missing() > missingBefore) {
            holes.skip(chunk, at.damagedRanges(), archive.files().uri().toString());
        }
        if (!isWhole) {
            checkSame();
        }
        return chunk.build(end);
    }

    @Override
    public void reuse(OlderChunk chunk) {
        arrays.free(chunk.data());
    }

    private ArchiveReader readerAt(long from) throws IOException {
        ArchiveReader open = reader;
        if (open == null || open.offset() != from || open.isAtEnd()) {
            closeReader();
            position = from;
            open = ArchiveReader.into(
                    arrays, opened().files(), partition, queue, from, from + WINDOW, skipsDamage, skipsDamage);
            reader = open;
        }
        return open;
    }

    /** The queue's partition of the archive, not listed yet; for use while this reader is open. */
    ArchivePartition partition() throws IOException {
        return opened().partition(new PartitionEntry(partition, queue));
    }

    private Archive opened() throws IOException {
        Archive open = archive;
        if (open != null) {
            return open;
        }
        ArchiveLink link = ArchiveLink.read(storage, directory)
                .orElseThrow(() -> new IOException(
                        directory.resolve(ArchiveLink.FILE_NAME) + " is missing: the queue was never shipped"));
        ArchiveFiles files = connection.open();
        boolean isOpen = false;
        try {
            open = Archive.openSame(files, link.archive());
            isOpen = true;
        } finally {
            if (!isOpen) {
                files.close();
            }
        }
        archive = open;
        partition = link.partition();
        return open;
    }

    private void closeReader() {
        ArchiveReader open = reader;
        reader = null;
        if (open != null) {
            position = open.offset();
            passedRecords += open.lost() + open.missing();
            passed.addAll(open.damagedRanges());
            open.close();
        }
    }

    @Override
    public void close() {
        closeReader();
        Archive open = archive;
        archive = null;
        if (open != null) {
            open.close();
        }
    }

    /** The ranges without records of a chunk. */
    private static final class Holes {
        private final List<long[]> all = new ArrayList<>();
        private long expected;

        Holes(long from) {
            expected = from;
        }

        void next(long offset) {
            if (offset > expected) {
                all.add(new long[] {expected, offset});
            }
            expected = offset + 1;
        }

        // Names those that no damage explains.
        void skip(OlderChunk.Builder chunk, List<DamagedRange> damaged, String archive) {
            for (long[] hole : all) {
                boolean isNamed =
                        damaged.stream().anyMatch(each -> each.firstOffset() < hole[1] && each.lastOffset() >= hole[0]);
                if (!isNamed) {
                    chunk.skip(new DamagedRange(
                            hole[0],
                            hole[1] - 1,
                            archive,
                            0,
                            "no file has records " + hole[0] + " to " + (hole[1] - 1)));
                }
            }
        }
    }
}
