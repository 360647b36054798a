package org.mmapqueue.append;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.mmapqueue.Records;
import org.mmapqueue.concurrent.Ticker;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Appends in format version 2. The header of a record, or of the first one of a batch, is stored last and publishes it.
 * The checksum of a payload is computed before the log end is locked.
 */
public final class AppenderV2 extends Appender {
    private static final long NO_TIME = -1;

    private final MetaFields fields;
    private final UUID queue;
    private final RecordChecksum checksum;
    private final int stampFlag;
    private final RecordClock clock;
    /** Base offset and base time of the log end's segment. */
    private long baseOffset;

    private long baseTime;
    /** The last reading of the clock; the timestamp that records get for it in this segment, and the bits of that. */
    private long clockTime = NO_TIME;

    private long stamp;
    private long stampBits;
    /** The idempotent append that has stored its producer's slot, if the running append is one; null for none. */
    private IdempotentAppend pendingOnce;
    /** The running append, if it does not fit into the segment of the log end; null for none. */
    private SpanWriter pendingSpan;

    public AppenderV2(
            MetaPage meta, Swapper swapper, Flusher flusher, Ring ring, Settings settings, long lastTimestamp) {
        super(meta, swapper, flusher, ring, settings);
        this.fields = meta.fields();
        this.queue = fields.uuid();
        this.checksum = new RecordChecksum(fields.uuid());
        this.stampFlag = settings.timestamps() ? RecordDescriptor.TIMESTAMPED : 0;
        this.clock = new RecordClock(lastTimestamp, System::currentTimeMillis, Ticker.SHARED);
    }

    @Override
    void started() {
        base(segment.baseOffset(), segment.baseTime());
        long now = stampFlag == 0 ? baseTime : clock.micros();
        if (RecordDescriptor.storable(now, baseTime) != now) {
            seal();
        }
    }

    // Ends the segment of the log end: it was begun without timestamps, and its base time is too old for them.
    private void seal() {
        segment.publish(endByte, checksum.padHeader(segmentId, segment.epoch(), endByte));
        swapper.unpin(segment);
        segment = null;
        endByte = segmentSize;
        meta.writing(geometry.position(segmentId, endByte));
    }

    @Override
    public long append(byte[] source, int from, int length) {
        return append(source, null, from, length);
    }

    @Override
    public long append(ByteBuffer source, int from, int length) {
        return append(null, source, from, length);
    }

    // The payload is in the array or in the buffer; the other one is null.
    private long append(byte[] array, ByteBuffer buffer, int from, int length) {
        checkSize(length);
        CRC32C crc = checksumOf(array, buffer, from, length);
        int flags = length | stampFlag;
        int size = RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(flags);
        lock.lock();
        try {
            checkUsable();
            int at = endByte;
            long first;
            if (size > segmentSize - at) {
                first = appendSpanning(new SinglePayload(array, buffer, from, length), null);
            } else {
                begin(at + size, 1);
                long record = endOffset();
                long timestamp = putBody(at, record, array, buffer, from, length);
                segment.publish(at, header(crc, record, flags, timestamp));
                first = published(1);
            }
            return first;
        } catch (Throwable e) {
            failed(e);
            throw e;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public long append(Records batch) {
        return append(batch, null);
    }

    @Override
    public long append(Records batch, IdempotentAppend once) {
        int count = batch.count();
        long size = 0;
        for (int i = 0; i < count; i++) {
            checkSize(batch.length(i));
            size += RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(batch.length(i));
        }
        if (size > (geometry.capacity() - 1L) * geometry.dataBytes()) {
            throw new TooLargeException("a batch of " + size + " bytes is larger than what " + (geometry.capacity() - 1)
                    + " segments of " + segmentSize + " bytes hold");
        }
        lock.lock();
        try {
            checkUsable();
            long firstOffset;
            if (once != null) {
                StackRoom.ensure(); // the producer's page is changed in several steps
            }
            if (once != null && once.isDuplicate()) {
                firstOffset = once.duplicateResult();
            } else if (count == 0 && once == null) {
                firstOffset = endOffset();
            } else if (size > segmentSize - endByte) {
                firstOffset = appendSpanning(batch, once);
            } else {
                begin(endByte + (int) size, count);
                putAll(batch, once);
                firstOffset = published(count);
            }
            return firstOffset;
        } catch (Throwable e) {
            failed(e);
            throw e;
        } finally {
            lock.unlock();
        }
    }

    // Appends a batch that fits into the segment of the log end.
    private void putAll(Records batch, IdempotentAppend once) {
        int count = batch.count();
        int at = endByte;
        long record = endOffset();
        long first = 0;
        for (int i = 0; i < count; i++) {
            int length = batch.length(i);
            int flags = length | stampFlag | (i + 1 < count ? RecordDescriptor.BATCH : 0);
            ByteBuffer buffer = batch.buffer(i);
            byte[] array = buffer == null ? batch.array(i) : null;
            CRC32C crc = checksumOf(array, buffer, batch.from(i), length);
            long timestamp = putBody(at, record + i, array, buffer, batch.from(i), length);
            long header = header(crc, record + i, flags, timestamp);
            if (i == 0) {
                first = header;
            } else {
                segment.putLong(at, header);
            }
            at += RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(flags);
        }
        if (once != null) {
            mark(once, geometry.position(segmentId, at));
        }
        if (count > 0) { // an idempotent batch may be empty
            segment.publish(endByte, first);
        }
        accept();
    }

    // Stores the producer's slot before the batch is published; the slot counts only once the log contains the
    // batch.
    private void mark(IdempotentAppend once, long position) {
        pendingOnce = once;
        try {
            once.store(pendingNext, position);
        } catch (IOException e) {
            throw poisoned(e);
        }
    }

    // Accepts the producer's slot. Idempotent.
    private void accept() {
        if (pendingOnce != null) {
            pendingOnce.page().accept();
            pendingOnce = null;
        }
    }

    private static CRC32C checksumOf(byte[] array, ByteBuffer buffer, int from, int length) {
        CRC32C crc = new CRC32C();
        if (buffer == null) {
            crc.update(array, from, length);
        } else {
            crc.update(buffer.slice(from, length));
        }
        return crc;
    }

    private static void copy(Segment to, int at, byte[] array, ByteBuffer buffer, int from, int length) {
        if (buffer == null) {
            to.put(at, array, from, length);
        } else {
            to.put(at, buffer, from, length);
        }
    }

    // Stores a record without its header; returns its timestamp, 0 when there is none.
    private long putBody(int at, long record, byte[] array, ByteBuffer buffer, int from, int length) {
        long timestamp = timestamp();
        segment.putLong(at + RecordDescriptor.HEADER, second(record));
        copy(segment, at + RecordDescriptor.SMALLEST, array, buffer, from, length);
        return timestamp;
    }

    // The timestamp of the next record, 0 for none. Many records share one, and what follows from it.
    private long timestamp() {
        if (stampFlag != 0) {
            long now = clock.micros();
            if (now != clockTime) {
                clockTime = now;
                stamp = RecordDescriptor.storable(now, baseTime);
                stampBits = RecordDescriptor.second(0, stamp);
            }
        }
        return stamp;
    }

    @Override
    public long newest() {
        lock.lock();
        try {
            return clock.last();
        } finally {
            lock.unlock();
        }
    }

    // The second word of a record with the last timestamp.
    private long second(long record) {
        return stampBits | record & RecordDescriptor.OFFSET_MASK;
    }

    private void base(long offsetOfFirst, long timeOfFirst) {
        baseOffset = offsetOfFirst;
        baseTime = timeOfFirst;
        clockTime = NO_TIME;
    }

    // Small, so that the JIT compiler always inlines it, and the checksum is not an object on the heap.
    private long header(CRC32C crc, long record, int flags, long timestamp) {
        return RecordDescriptor.header(flags, checksum.finish(crc, record, timestamp, flags));
    }

    private void begin(int end, int count) {
        pendingNext = endOffset() + count;
        pendingEnd = end;
    }

    // Notes the published records. Idempotent: the position of the next record changes last.
    private long published(int count) {
        long next = pendingNext;
        meta.writing(segmentId * segmentSize + pendingEnd);
        endOffset(next); // after the position: a read finds each record before an end offset that was seen
        endByte = pendingEnd;
        pendingEnd = 0;
        return next - count;
    }

    @Override
    void rollBack() throws IOException {
        if (pendingSpan != null && pendingSpan.isPublished()) {
            pendingSpan.finish();
            return;
        }
        if (pendingSpan == null && endByte < segmentSize && segment.headerAcquire(endByte) != 0) {
            accept();
            published(0);
            return;
        }
        if (pendingSpan != null) {
            pendingSpan.undo();
        }
        if (pendingOnce != null) {
            pendingOnce.rollBack();
            pendingOnce = null;
        }
        if (endByte < pendingEnd) {
            segment.zero(endByte, pendingEnd);
            // Fsyncs the zeros: after a clean close and a loss of power, the old bytes would be read as a record.
            swapper.forceBytes(segmentId, endByte, pendingEnd);
        }
        pendingSpan = null;
        pendingEnd = 0;
    }

    @Override
    void releasePending() {
        if (pendingSpan != null) {
            pendingSpan.release();
            pendingSpan = null;
        }
    }

    private long appendSpanning(Records batch, IdempotentAppend once) {
        SpanWriter span = new SpanWriter(batch);
        if (!reserve(span.lastSegment())) {
            return FULL;
        }
        pendingSpan = span;
        begin(segmentSize, batch.count());
        span.write(once);
        ring.entered(segmentId);
        return endOffset() - batch.count();
    }

    /**
     * Writes records that do not fit into the segment of the log end, across as many segments as they need. The
     * appender's log end stays as it is until they are published.
     */
    private final class SpanWriter {
        private final Records batch;
        private final long offsetBefore = baseOffset;
        private final long timeBefore = baseTime;
        // Pinned, as is the appender's segment; any two of the three may be the same, which is then pinned once.
        private Segment head;
        private Segment current = segment;
        private int headAt;
        private long id = segmentId;
        private int at = endByte;

        SpanWriter(Records batch) {
            this.batch = batch;
        }

        long lastSegment() {
            long end = geometry.position(id, at);
            for (int i = 0; i < batch.count(); i++) {
                end = geometry.after(end, RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(batch.length(i)));
            }
            return geometry.segmentOfEnd(end);
        }

        void write(IdempotentAppend once) {
            long index = endOffset();
            long headWord = 0;
            for (int i = 0; i < batch.count(); i++) {
                if (at == segmentSize) {
                    roll(0, index + i);
                }
                int length = batch.length(i);
                int flags = length | stampFlag | (i + 1 < batch.count() ? RecordDescriptor.BATCH : 0);
                long timestamp = timestamp();
                long second = second(index + i);
                ByteBuffer buffer = batch.buffer(i);
                byte[] array = buffer == null ? batch.array(i) : null;
                CRC32C crc = checksumOf(array, buffer, batch.from(i), length);
                long header = header(crc, index + i, flags, timestamp);
                if (i == 0) {
                    headAt = at;
                    headWord = header;
                    head = current;
                } else {
                    current.putLong(at, header);
                }
                at += RecordDescriptor.HEADER;
                writeBody(array, buffer, batch.from(i), length, second, index + i + 1);
            }
            if (once != null) {
                mark(once, geometry.position(id, at));
            }
            head.publish(headAt, headWord);
            finish();
        }

        boolean isPublished() {
            return head != null && head.headerAcquire(headAt) != 0;
        }

        /** Moves the log end behind the published records. Idempotent. */
        void finish() {
            accept();
            meta.writing(geometry.position(id, at));
            endOffset(pendingNext);
            segment = current;
            segmentId = id;
            endByte = at;
            pendingSpan = null;
            pendingEnd = 0;
            release();
        }

        /** Brings the appender back to the log end before the append, which is not published. Idempotent. */
        void undo() {
            release();
            base(offsetBefore, timeBefore);
            staleUpTo = Math.max(staleUpTo, id);
            swapper.startAt(segmentId);
        }

        /** Releases all pins but that of the appender's segment. Idempotent. */
        void release() {
            Segment last = current;
            current = null;
            if (last != null && last != segment && last != head) {
                swapper.unpin(last);
            }
            Segment first = head;
            head = null;
            if (first != null && first != segment) {
                swapper.unpin(first);
            }
        }

        private void writeBody(byte[] array, ByteBuffer buffer, int from, int length, long second, long nextIndex) {
            int left = RecordDescriptor.bodyBytes(length);
            if (at == segmentSize) {
                roll(left, nextIndex);
            }
            current.putLong(at, second);
            at += Long.BYTES;
            left -= Long.BYTES;
            int done = 0;
            while (left > 0) {
                if (at == segmentSize) {
                    roll(left, nextIndex);
                }
                int piece = Math.min(left, segmentSize - at);
                int payload = Math.min(piece, length - done);
                copy(current, at, array, buffer, from + done, payload);
                done += payload;
                at += piece;
                left -= piece;
            }
        }

        // The segment with the first record's header stays pinned until the batch is published. Without such a header
        // the log end is the end of its segment, which then needs no pin.
        private void roll(int left, long nextIndex) {
            Segment before = current;
            current = null;
            if (head == null) {
                segment = null;
            }
            if (before != null && before != head) {
                swapper.unpin(before);
            }
            id++;
            try {
                current = swapper.enter(id);
            } catch (IOException e) {
                throw notEntered(id, e);
            }
            base(nextIndex, stampFlag == 0 || left > 0 ? clock.last() : clock.micros());
            int start = geometry.dataStart();
            int firstRecord = left < geometry.dataBytes() ? start + left : 0;
            current.writeHeader(queue, geometry.capacity(), fields.epoch(), baseOffset, baseTime, firstRecord);
            at = start;
        }
    }
}
