package org.mmapqueue.archive.run;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.files.ArchiveFiles;

/**
 * Collects consecutive records of one queue, and stores them as one run. It holds the records in memory, compressed if
 * the codec compresses. Not thread-safe.
 *
 * <pre>{@code
 * RunWriter run = new RunWriter(source.queueId(), epoch, ArchiveCodec.NONE);
 * source.read(from, to, maxBytes, run::add);
 * RunName name = run.publish(archive.files(), partition);
 * }</pre>
 */
public final class RunWriter {
    private final UUID queue;
    private final long epoch;
    private final ArchiveCodec codec;
    private final Blocks stored = new Blocks();
    private final BlockWriter blocks;
    private @Nullable RunName name;

    /**
     * Starts without records.
     *
     * @param queue the UUID of the records' queue
     * @param epoch the epoch of the shipper
     * @param codec the compression of the records
     * @throws org.mmapqueue.errors.ArchiveException if the codec's library is missing
     */
    public RunWriter(UUID queue, long epoch, ArchiveCodec codec) {
        this.queue = queue;
        this.epoch = epoch;
        this.codec = codec;
        this.blocks = new BlockWriter(stored, codec);
    }

    /**
     * Adds the next record; copies its bytes.
     *
     * @throws IllegalArgumentException if the record does not follow the last one
     */
    public void add(StoredRecord record) {
        if (name != null) {
            throw new IllegalStateException("record " + record.offset() + " for " + name + ", which is complete");
        }
        try {
            blocks.add(record);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a write to memory does not fail
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
     * Stores the run. After a call that has thrown, a repeated call stores the same file, or finds that it is stored
     * already. No record can be added after the first call.
     *
     * @param files the archive's files
     * @param partition the partition's number
     * @return the name of the run
     * @throws IllegalStateException if no record was added
     */
    public RunName publish(ArchiveFiles files, int partition) throws IOException {
        RunName run = complete();
        RunLayout.Header header = new RunLayout.Header(codec, queue, run.first(), run.end());
        files.create(run.file(partition), out -> {
            out.write(header.bytes());
            stored.writeTo(out);
            blocks.writeEnd(out, header);
        });
        return run;
    }

    /** The name of the run; null until {@link #publish} has completed it. */
    public @Nullable RunName name() {
        return name;
    }

    private RunName complete() throws IOException {
        RunName run = name;
        if (run == null) {
            if (blocks.count() == 0) {
                throw new IllegalStateException("a run without records");
            }
            run = blocks.complete(epoch);
            name = run;
        }
        return run;
    }

    // A single array would be copied each time it grows, and is too large for the young generation.
    private static final class Blocks extends OutputStream {
        private final List<byte[]> written = new ArrayList<>();

        @Override
        public void write(int value) {
            written.add(new byte[] {(byte) value});
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            written.add(Arrays.copyOfRange(bytes, from, from + length));
        }

        void writeTo(OutputStream out) throws IOException {
            for (byte[] each : written) {
                out.write(each);
            }
        }
    }
}
