package org.mmapqueue.archive.run;

import java.io.IOException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.errors.CorruptException;

/**
 * An open run. Its end, with the index, is read at once. Blocks are read in pieces, which double from one block up to
 * {@link ArchiveFiles.Input#bytesAtOnce} as long as blocks are read in order. Not thread-safe.
 */
public final class RunFile implements AutoCloseable {
    private static final int TAIL = 64 << 10;
    private static final int MOST_BLOCK = (1 << 27) + 64;

    private final ArchiveFiles.Input input;
    private final String path;
    private final RunName name;
    private final ArchiveCodec codec;
    private final BlockArrays arrays;
    private final RecordCursor cursor;
    private final byte[] index;
    private final long indexPosition;
    private final int blocks;

    /** The bytes that were read last, and their position in the file. Records are in it if the run is not compressed. */
    private byte[] window = new byte[0];

    private long windowStart;
    private int windowLength;
    private int ahead = RunLayout.BLOCK;
    private int lastBlock = -2;
    private byte[] plain = new byte[0];

    private RunFile(
            ArchiveFiles.Input input,
            String path,
            RunName name,
            UUID queue,
            BlockArrays arrays,
            byte[] index,
            long indexPosition) {
        this.input = input;
        this.arrays = arrays;
        this.path = path;
        this.name = name;
        this.index = index;
        this.indexPosition = indexPosition;
        this.codec = RunLayout.Header.of(index, 0).codec();
        this.blocks = (index.length - RunLayout.HEADER) / RunLayout.ENTRY;
        this.cursor = new RecordCursor(queue);
    }

    /**
     * Opens a run.
     *
     * @param queue the UUID of the queue that the run must belong to
     * @throws java.nio.file.NoSuchFileException if the run does not exist
     * @throws CorruptException if the index is damaged, or belongs to another run
     */
    public static RunFile open(ArchiveFiles files, int partition, RunName name, UUID queue) throws IOException {
        return open(files, partition, name, queue, BlockArrays.REUSED);
    }

    /**
     * As {@link #open(ArchiveFiles, int, RunName, UUID)}.
     *
     * @param arrays where the records are; asked again for each read of the file, or, in a compressed run, for each block
     */
    public static RunFile open(ArchiveFiles files, int partition, RunName name, UUID queue, BlockArrays arrays)
            throws IOException {
        String file = name.file(partition);
        String path = files.uri() + file;
        ArchiveFiles.Input input = files.open(file);
        boolean opened = false;
        try {
            RunFile run = open(input, path, name, queue, arrays);
            opened = true;
            return run;
        } finally {
            if (!opened) {
                input.close();
            }
        }
    }

    private static RunFile open(ArchiveFiles.Input input, String path, RunName name, UUID queue, BlockArrays arrays)
            throws IOException {
        long length = input.length();
        if (length < 2 * RunLayout.HEADER + RunLayout.TRAILER) {
            throw new CorruptException(path, 0, "the file has " + length + " bytes; a run has more");
        }
        byte[] tail = new byte[(int) Math.min(TAIL, length)];
        input.readFully(length - tail.length, tail, 0, tail.length);
        int at = tail.length - RunLayout.TRAILER;
        if (!RunLayout.Trailer.isValid(tail, at, length)) {
            throw new CorruptException(path, length - RunLayout.TRAILER, "the trailer is damaged");
        }
        RunLayout.Trailer trailer = RunLayout.Trailer.of(tail, at);
        if (trailer.position() < RunLayout.HEADER
                || trailer.length() < RunLayout.HEADER
                || trailer.length() > Integer.MAX_VALUE - 8
                || (trailer.length() - RunLayout.HEADER) % RunLayout.ENTRY != 0) {
            throw new CorruptException(path, length - RunLayout.TRAILER, "the trailer names no index: " + trailer);
        }
        byte[] index = new byte[(int) trailer.length()];
        if (index.length <= at) {
            System.arraycopy(tail, at - index.length, index, 0, index.length);
        } else {
            input.readFully(trailer.position(), index, 0, index.length);
        }
        String fault = indexFault(index, trailer, name, queue);
        if (fault != null) {
            throw new CorruptException(path, trailer.position(), fault);
        }
        return new RunFile(input, path, name, queue, arrays, index, trailer.position());
    }

    private static @Nullable String indexFault(byte[] index, RunLayout.Trailer trailer, RunName name, UUID queue) {
        if (RunLayout.crc(index, 0, index.length) != trailer.crc()) {
            return "the checksum of the index is wrong";
        }
        String fault = RunLayout.Header.fault(index, 0);
        if (fault != null) {
            return fault;
        }
        RunLayout.Header header = RunLayout.Header.of(index, 0);
        if (!header.queue().equals(queue)) {
            return "a run of queue " + header.queue() + "; expected " + queue;
        }
        long next = name.first();
        long position = RunLayout.HEADER;
        for (int at = RunLayout.HEADER; at < index.length; at += RunLayout.ENTRY) {
            RunLayout.Entry entry = RunLayout.Entry.of(index, at);
            if (entry.first() != next || entry.count() < 1 || entry.position() < position) {
                return "the index is not in order: " + entry + " where record " + next + " is expected";
            }
            next = entry.end();
            position = entry.position() + RunLayout.BLOCK_HEADER;
        }
        return header.first() != name.first() || header.end() != name.end() || next != name.end()
                ? "records " + header.first() + " to " + next + "; the name says " + name
                : null;
    }

    /** The run's name. */
    public RunName name() {
        return name;
    }

    /** The codec of the blocks. */
    public ArchiveCodec codec() {
        return codec;
    }

    /** The number of blocks. */
    public int blocks() {
        return blocks;
    }

    /** The block that holds a record of this run. */
    public int blockOf(long offset) {
        int low = 0;
        int high = blocks - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (entry(middle).first() <= offset) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /** The first block with a record of this time or later; {@link #blocks} if no block has one. */
    public int blockAtOrAfter(long micros) {
        int block = 0;
        while (block < blocks && entry(block).maxMicros() < micros) {
            block++;
        }
        return block;
    }

    /** The offset after a block's last record. */
    public long endOf(int block) {
        return entry(block).end();
    }

    private RunLayout.Entry entry(int block) {
        return RunLayout.Entry.of(index, RunLayout.HEADER + block * RunLayout.ENTRY);
    }

    private long end(int block) {
        return block + 1 < blocks ? entry(block + 1).position() : indexPosition;
    }

    /**
     * Reads a block. The returned cursor, before the first record, is valid up to the next call.
     *
     * @param limit the offset after the last record that will be read, which bounds reading ahead
     * @throws CorruptException if the block is damaged
     */
    public RecordCursor read(int block, long limit) throws IOException {
        RunLayout.Entry entry = entry(block);
        long span = end(block) - entry.position();
        if (span < RunLayout.BLOCK_HEADER || span > MOST_BLOCK + RunLayout.BLOCK_HEADER) {
            throw new CorruptException(path, entry.position(), "a block of " + span + " bytes");
        }
        fetch(block, (int) span, limit);
        lastBlock = block;
        int at = (int) (entry.position() - windowStart);
        if (!RunLayout.BlockHeader.isValid(window, at)) {
            throw new CorruptException(path, entry.position(), "the checksum of the block's header is wrong");
        }
        RunLayout.BlockHeader header = RunLayout.BlockHeader.of(window, at);
        int data = at + RunLayout.BLOCK_HEADER;
        if (header.first() != entry.first()
                || header.count() != entry.count()
                || header.bytes() != entry.bytes()
                || header.stored() != span - RunLayout.BLOCK_HEADER
                || header.bytes() < header.stored()
                || header.bytes() > MOST_BLOCK) {
            throw new CorruptException(
                    path, entry.position(), "the block is " + header + ", but the index says " + entry);
        }
        if (RunLayout.crc(window, data, header.stored()) != header.crc()) {
            throw new CorruptException(path, entry.position(), "the block's checksum is wrong");
        }
        if (codec == ArchiveCodec.NONE && header.stored() == header.bytes()) {
            cursor.begin(path, entry.position(), header, window, data);
        } else {
            cursor.begin(path, entry.position(), header, decompressed(header, data), 0);
        }
        return cursor;
    }

    private byte[] decompressed(RunLayout.BlockHeader header, int data) throws IOException {
        if (codec != ArchiveCodec.ZSTD) {
            throw new CorruptException(path, windowStart + data, "a block that is compressed in a run with codec none");
        }
        plain = arrays.next(plain, Math.max(header.bytes(), RunLayout.BLOCK));
        if (header.stored() == header.bytes()) {
            System.arraycopy(window, data, plain, 0, header.bytes());
            return plain;
        }
        codec.checkUsable();
        try {
            ZstdBlocks.decompress(window, data, header.stored(), plain, header.bytes());
        } catch (IOException e) {
            throw new CorruptException(path, windowStart + data, e.getMessage());
        }
        return plain;
    }

    // Fills the window from this block on, unless the window holds the block.
    private void fetch(int block, int span, long limit) throws IOException {
        long position = entry(block).position();
        if (position >= windowStart && position + span <= windowStart + windowLength) {
            return;
        }
        ahead = block == lastBlock + 1 ? Math.min(2 * ahead, input.bytesAtOnce()) : RunLayout.BLOCK;
        int last = block;
        while (last + 1 < blocks && entry(last + 1).first() < limit && end(last + 1) - position <= ahead) {
            last++;
        }
        int length = (int) (end(last) - position);
        windowLength = 0;
        window = (codec == ArchiveCodec.NONE ? arrays : BlockArrays.REUSED).next(window, length);
        input.readFully(position, window, 0, length);
        windowStart = position;
        windowLength = length;
    }

    @Override
    public void close() throws IOException {
        input.close();
    }
}
