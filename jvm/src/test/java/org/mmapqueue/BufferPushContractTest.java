package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Payload;

/** Payloads in buffers, in the heap and outside, within a segment and over several. */
@ForEverySetup
class BufferPushContractTest extends ContractTest {
    private static final int GAP = 5;

    private static ByteBuffer direct(byte[] payload) {
        return ByteBuffer.allocateDirect(GAP + payload.length + GAP)
                .position(GAP)
                .put(payload)
                .flip()
                .position(GAP);
    }

    @Test
    void everyLengthIsStoredFromABuffer() throws InterruptedException {
        List<byte[]> payloads = setup.payloads(3, 40);
        for (int i = 0; i < payloads.size(); i++) {
            ByteBuffer buffer = i % 3 == 0
                    ? ByteBuffer.wrap(payloads.get(i))
                    : i % 3 == 1
                            ? direct(payloads.get(i))
                            : direct(payloads.get(i)).asReadOnlyBuffer();
            int limit = buffer.limit();
            assertEquals(i, i % 2 == 0 ? queue.push(buffer) : queue.push(buffer, Duration.ZERO));
            assertEquals(limit, buffer.position());
            assertEquals(limit, buffer.limit());
        }
        Payload.assertMessages(0, payloads, Payload.drain(queue));
    }

    @Test
    void recordsFromBuffersAreReadAfterAReopen() {
        List<byte[]> payloads = setup.payloads(5, 20);
        payloads.forEach(each -> queue.push(direct(each)));
        reopen();
        Payload.assertMessages(0, payloads, Payload.drain(queue));
    }

    /** A batch of the caller's own class, each second payload in a buffer. */
    private record Mixed(List<byte[]> payloads) implements Records {
        @Override
        public int count() {
            return payloads.size();
        }

        @Override
        public byte[] array(int i) {
            if (i % 2 == 1) {
                throw new IllegalStateException("the payload is in a buffer");
            }
            return payloads.get(i);
        }

        @Override
        public ByteBuffer buffer(int i) {
            return i % 2 == 0 ? null : direct(payloads.get(i));
        }

        @Override
        public int from(int i) {
            return i % 2 == 0 ? 0 : GAP;
        }

        @Override
        public int length(int i) {
            return payloads.get(i).length;
        }
    }

    @Test
    void aBatchMayMixArraysAndBuffers() throws InterruptedException {
        List<byte[]> payloads = setup.payloads(7, 12);
        assertEquals(0, queue.pushBatch(new Mixed(payloads), Duration.ZERO));
        Payload.assertMessages(0, payloads, Payload.drain(queue));
    }

    @Test
    void aPackedBatchOfBuffersIsStoredAsItIs() throws InterruptedException {
        List<byte[]> payloads = setup.payloads(9, 12);
        List<ByteBuffer> buffers = new ArrayList<>();
        payloads.forEach(each -> buffers.add(direct(each)));
        int[] lengths = payloads.stream().mapToInt(each -> each.length).toArray();
        Records batch = Records.packed(buffers, lengths);
        queue.pushBatch(batch, Duration.ZERO);
        Payload.assertMessages(0, payloads, Payload.drain(queue));
        queue.consumer().ackUpTo(payloads.size() - 1);
        try {
            long again = queue.pushBatch(batch, Duration.ZERO);
            Payload.assertMessages(again, payloads, Payload.drain(queue));
        } catch (FullException e) {
            assertEquals(payloads.size(), queue.endOffset());
        }
    }

    @Test
    void aPackedBatchKeepsTheLengthsItWasMadeWith() throws InterruptedException {
        List<byte[]> payloads = setup.payloads(3, 5);
        List<ByteBuffer> buffers = new ArrayList<>();
        payloads.forEach(each -> buffers.add(direct(each)));
        ByteBuffer array = ByteBuffer.allocate(
                payloads.stream().mapToInt(each -> each.length).sum());
        payloads.forEach(array::put);
        int[] lengths = payloads.stream().mapToInt(each -> each.length).toArray();
        Records ofBuffers = Records.packed(buffers, lengths);
        Records ofArray = Records.packed(array.array(), 0, lengths, lengths.length);
        Arrays.fill(lengths, Integer.MAX_VALUE); // the caller reuses its array
        for (Records batch : List.of(ofBuffers, ofArray)) {
            long first = queue.pushBatch(batch, Duration.ZERO);
            Payload.assertMessages(first, payloads, Payload.drain(queue));
            queue.consumer().ackUpTo(queue.endOffset() - 1);
        }
    }
}
