package org.mmapqueue.archive.run;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.files.ArchiveFiles;

/**
 * Collects consecutive records of one queue and stores them as one run. It holds them in memory, compressed if the codec
 * does that. Not thread-safe.
 *
 * <pre>{@code
 * RunWriter run = new RunWriter(source.queueId(), ArchiveCodec.NONE);
 * source.read(from, to, maxBytes, run::add);
 * RunName name = run.publish(archive.files(), partition);
 * }</pre>
 */
public final class RunWriter {
    private final UUID queue;
    private final ArchiveCodec codec;
    private final ByteArrayOutputStream stored = new ByteArrayOutputStream();
    private final BlockWriter blocks;
    private @Nullable RunName name;

    /**
     * A run without records.
     *
     * @param queue the queue of the records
     * @param codec how they are compressed
     * @throws org.mmapqueue.errors.ArchiveException if the codec's library is missing
     */
    public RunWriter(UUID queue, ArchiveCodec codec) {
        this.queue = queue;
        this.codec = codec;
        this.blocks = new BlockWriter(stored, codec);
    }

    /**
     * Adds a record, the one after the last one added; copies what it needs of it.
     *
     * @throws IllegalArgumentException if another record was added last
     */
    public void add(StoredRecord record) {
        if (name != null) {
            throw new IllegalStateException("record " + record.offset() + " for " + name + ", which is complete");
        }
        try {
            blocks.add(record);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // memory has none
        }
    }

    /** The number of records. */
    public long count() {
        return blocks.count();
    }

    /** The bytes of the records, uncompressed. */
    public long bytes() {
        return blocks.bytes();
    }

    /**
     * Stores the run. A call after one that has thrown stores the same file, or finds that it is stored already; no
     * record can be added then.
     *
     * @param files the archive's files
     * @param partition the partition's number
     * @return the name of the run
     * @throws IllegalStateException if there is no record
     */
    public RunName publish(ArchiveFiles files, int partition) throws IOException {
        RunName run = name();
        RunLayout.Header header = new RunLayout.Header(codec, queue, run.first(), run.end());
        files.create(run.file(partition), out -> {
            out.write(header.bytes());
            stored.writeTo(out);
            blocks.writeEnd(out, header);
        });
        return run;
    }

    private RunName name() throws IOException {
        RunName run = name;
        if (run == null) {
            if (blocks.count() == 0) {
                throw new IllegalStateException("a run without records");
            }
            run = blocks.complete();
            name = run;
        }
        return run;
    }
}
