package org.mmapqueue.spark.write;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.queue.Records;

/**
 * The rows of staged files, one block in memory at a time. They are asked for in ascending order; going back begins at
 * the first file again. One thread.
 */
final class StagedRecords implements Records, Closeable {
    private final Storage storage;
    private final Path directory;
    private final List<StagedFile> files;
    private final int count;
    private DataFile open;
    private int nextFile;
    private long nextBlock;
    private ByteBuffer head = StagedFiles.buffer(4096);
    private int[] lengths = new int[1024];
    private byte[] payload = new byte[0];
    private int first;
    private int inBlock;
    private int payloadBytes;
    private boolean isRead;
    private long begun;
    private int current = -1;
    private int from;

    /**
     * The rows of some files.
     *
     * @param storage where they are
     * @param directory where they lie
     * @param files of one partition, known to be whole
     * @throws IllegalArgumentException when there are more rows than one batch may have
     */
    StagedRecords(Storage storage, Path directory, List<StagedFile> files) {
        long sum = files.stream().mapToLong(StagedFile::count).sum();
        if (sum > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(sum + " rows for partition " + files.get(0).partition()
                    + " at once; allowed: up to " + Integer.MAX_VALUE + "; write in smaller batches (for streams, by"
                    + " limits of the source such as maxOffsetsPerTrigger)");
        }
        this.storage = storage;
        this.directory = directory;
        this.files = files;
        this.count = (int) sum;
    }

    @Override
    public int count() {
        return count;
    }

    @Override
    public int length(int i) {
        goTo(i);
        return lengths[i - first];
    }

    @Override
    public int from(int i) {
        goTo(i);
        return from;
    }

    @Override
    public byte[] array(int i) {
        goTo(i);
        if (!isRead) {
            begun = begun == 0 ? System.nanoTime() : begun;
            try {
                if (payload.length < payloadBytes) {
                    payload = new byte[payloadBytes];
                }
                read(payload, 0, payloadBytes, nextBlock - payloadBytes);
            } catch (IOException e) {
                throw new UncheckedIOException("a staged file of " + directory + " can not be read: " + e, e);
            }
            isRead = true;
        }
        return payload;
    }

    /** When the first payload was asked for, which is when there is room; of System.nanoTime, 0 for not yet. */
    long begun() {
        return begun;
    }

    // Mostly it is the next one.
    private void goTo(int i) {
        if (i == current + 1 && i < first + inBlock) {
            from += lengths[current - first];
            current = i;
        } else if (i != current) {
            jumpTo(i);
        }
    }

    private void jumpTo(int i) {
        if (i < first) {
            rewind();
        }
        while (i >= first + inBlock) {
            nextBlock();
        }
        current = i;
        from = 0;
        for (int before = 0; before < i - first; before++) {
            from += lengths[before];
        }
    }

    private void rewind() {
        closeFile();
        nextFile = 0;
        first = 0;
        inBlock = 0;
        current = -1;
    }

    private void nextBlock() {
        try {
            first += inBlock;
            inBlock = 0;
            while (open == null || nextBlock >= files.get(nextFile - 1).size()) {
                closeFile();
                open = storage.open(directory.resolve(files.get(nextFile).name()), Storage.Mode.READ);
                nextFile++;
                nextBlock = 0;
            }
            read(head.array(), 0, StagedFileWriter.HEADER, nextBlock);
            int records = head.getInt(0);
            int bytes = StagedFileWriter.HEADER + 4 * records;
            if (head.capacity() < bytes) {
                head = StagedFiles.buffer(bytes).put(0, head.array(), 0, StagedFileWriter.HEADER);
            }
            read(head.array(), StagedFileWriter.HEADER, bytes - StagedFileWriter.HEADER,
                    nextBlock + StagedFileWriter.HEADER);
            if (lengths.length < records) {
                lengths = new int[records];
            }
            head.limit(bytes).position(StagedFileWriter.HEADER).asIntBuffer().get(lengths, 0, records);
            head.clear();
            inBlock = records;
            payloadBytes = head.getInt(4);
            nextBlock += bytes + payloadBytes;
            isRead = false;
        } catch (IOException e) {
            throw new UncheckedIOException("a staged file of " + directory + " can not be read: " + e, e);
        }
    }

    private void read(byte[] target, int from, int length, long position) throws IOException {
        if (length > 0 && open.read(ByteBuffer.wrap(target, from, length).slice(), position) < length) {
            throw new EOFException(open.path() + " ends before byte " + (position + length));
        }
    }

    private void closeFile() {
        if (open != null) {
            try {
                open.close();
            } catch (IOException e) {
                throw new UncheckedIOException("a staged file of " + directory + " can not be closed: " + e, e);
            }
            open = null;
        }
    }

    @Override
    public void close() {
        closeFile();
    }
}
