package org.mmapqueue.bench;

import java.io.Closeable;
import java.util.List;

/**
 * What a benchmark measures: the queue, or a baseline. Records come out in the order in which they went in. The loops of
 * all benchmarks call this interface, and each fork loads one implementation, so its calls are monomorphic.
 */
public interface Subject extends Closeable {

    /**
     * Returns the writing side for one thread.
     *
     * @throws UnsupportedOperationException on the second call, if the subject has one writer alone
     */
    Writer writer();

    /**
     * Returns the reading side for one thread. Several readers share the records between them.
     *
     * @throws UnsupportedOperationException on the second call, if the subject has one reader alone
     */
    Reader reader();

    /** Pushes records. Not thread-safe. */
    interface Writer {

        /** Appends one record; false if the subject is full. */
        boolean push(byte[] record);

        /** Appends one record and returns when it is durable; false if the subject is full. */
        default boolean pushSync(byte[] record) {
            throw new UnsupportedOperationException("nothing is fsynced");
        }

        /** Appends all records or none; false if the subject is full. */
        default boolean pushBatch(List<byte[]> records) {
            throw new UnsupportedOperationException("no batches");
        }
    }

    /** Pops records, and verifies their checksums if the subject stores any. Not thread-safe. */
    interface Reader {

        /** Pops one record in the cheapest way; false if there is none. */
        boolean pop();

        /** Pops one record as an object that the caller may keep; false if there is none. */
        default boolean popMessage() {
            throw new UnsupportedOperationException("no messages");
        }

        /** Pops up to {@code max} records in one call; returns their number. */
        default int popBatch(int max) {
            throw new UnsupportedOperationException("no batches");
        }

        /** Releases all records that this reader has popped. */
        void ack();
    }
}
