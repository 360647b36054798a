package org.mmapqueue.append;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.mmapqueue.Records;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.log.LogReaderV1;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Appends in format version 1, which Satellite reads: a 64-bit length, then the payload. Storing the writing position
 * publishes the record. Leaves free the margin of the ring that Satellite does not push into.
 */
public final class AppenderV1 extends Appender {
    private static final int LENGTH_BYTES = 8;

    private final int margin;
    // Of the running append: where it starts, and whether all of it is stored. Its first segment stays pinned, so that
    // a rollback needs no mapping.
    private Segment startSegment;
    private long startId;
    private int startByte;
    private boolean stored;

    public AppenderV1(MetaPage meta, Swapper swapper, Flusher flusher, Ring ring, Settings settings) {
        super(meta, swapper, flusher, ring, settings);
        this.margin = geometry.margin(maxEventSize);
    }

    @Override
    void started() {
        // Segments of version 1 have no header.
    }

    @Override
    public long append(byte[] source, int from, int length) {
        return append(Records.single(source, from, length));
    }

    @Override
    public long append(ByteBuffer source, int from, int length) {
        return append(new SinglePayload(null, source, from, length));
    }

    @Override
    public long append(Records batch) {
        long size = 0;
        for (int i = 0; i < batch.count(); i++) {
            checkSize(batch.length(i));
            size += 2L * LENGTH_BYTES + batch.length(i);
        }
        if (batch.count() > 1 && size > (geometry.capacity() - 1L - margin) * segmentSize) {
            throw new TooLargeException("a batch of " + size + " bytes is larger than what a ring of "
                    + geometry.capacity() + " segments of " + segmentSize + " bytes holds");
        }
        lock.lock();
        try {
            checkUsable();
            long first = appendWhole(batch);
            return first;
        } catch (Throwable e) {
            failed(e);
            throw e;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public long append(Records batch, IdempotentAppend once) {
        throw new IllegalStateException("format version 1 has no idempotent producers");
    }

    private long appendWhole(Records batch) {
        long end = LogReaderV1.normal(geometry, geometry.position(segmentId, endByte));
        long lastStart = end;
        for (int i = 0; i < batch.count(); i++) {
            lastStart = end;
            end = LogReaderV1.normal(geometry, end + LENGTH_BYTES + batch.length(i));
        }
        // Satellite checks before each record; the check of the last record is the strictest.
        if (!ring.tryFree(geometry.segmentOf(lastStart) + margin) || !reserve(geometry.segmentOfEnd(end))) {
            return FULL;
        }
        int count = batch.count();
        startSegment = segment;
        startId = segmentId;
        startByte = endByte;
        stored = false;
        pendingNext = endOffset() + count;
        pendingEnd = segmentSize;
        for (int i = 0; i < count; i++) {
            write(batch, i);
        }
        stored = true;
        publish();
        return pendingNext - count;
    }

    private void publish() {
        endOffset(pendingNext);
        meta.writing(geometry.position(segmentId, endByte));
        releaseStart();
        pendingEnd = 0;
        if (segmentId != startId) {
            ring.entered(segmentId);
        }
    }

    // Bytes after the writing position have no meaning, so only this object is reset.
    @Override
    void rollBack() {
        if (stored) {
            publish();
            return;
        }
        if (segment != startSegment) {
            Segment left = segment;
            segment = startSegment;
            if (left != null) {
                swapper.unpin(left);
            }
        }
        segmentId = startId;
        endByte = startByte;
        swapper.startAt(segmentId);
        startSegment = null;
        pendingEnd = 0;
    }

    @Override
    void releasePending() {
        releaseStart();
    }

    private void releaseStart() {
        Segment start = startSegment;
        startSegment = null;
        if (start != null && start != segment) {
            swapper.unpin(start);
        }
    }

    private void write(Records batch, int i) {
        ByteBuffer buffer = batch.buffer(i);
        byte[] array = buffer == null ? batch.array(i) : null;
        int from = batch.from(i);
        int length = batch.length(i);
        if (segmentSize - endByte < LENGTH_BYTES) {
            roll();
        }
        segment.putLong(endByte, length);
        endByte += LENGTH_BYTES;
        int done = 0;
        while (done < length) {
            if (endByte == segmentSize) {
                roll();
            }
            int piece = Math.min(length - done, segmentSize - endByte);
            if (buffer == null) {
                segment.put(endByte, array, from + done, piece);
            } else {
                segment.put(endByte, buffer, from + done, piece);
            }
            done += piece;
            endByte += piece;
        }
    }

    private void roll() {
        Segment left = segment;
        segment = null;
        if (left != null && left != startSegment) {
            swapper.unpin(left);
        }
        try {
            segment = swapper.enter(segmentId + 1);
        } catch (IOException e) {
            throw notEntered(segmentId + 1, e);
        }
        segmentId++;
        endByte = 0;
    }
}
