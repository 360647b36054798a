package org.mmapqueue.bench;

import java.io.Closeable;
import java.util.List;

/**
 * Something that records go into and come out of in order: the queue, the roofline, a peer. All benchmarks drive all
 * contenders through this one interface, so that their loops are the same; each fork loads one contender only, so that
 * the calls are bound as directly as any.
 */
public interface Contender extends Closeable {

    /** The writing side for one thread; a contender with one writer refuses the second call. */
    Writer writer();

    /** The reading side for one thread; several share the records between them. */
    Reader reader();

    /** Puts records in. Used by one thread. */
    interface Writer {

        /** Appends one record; false when there is no room now. */
        boolean push(byte[] record);

        /** Appends one record and returns when it is on the disk; false when there is no room now. */
        default boolean pushSync(byte[] record) {
            throw new UnsupportedOperationException("nothing is fsynced");
        }

        /** Appends all or none; false when there is no room now. */
        default boolean pushBatch(List<byte[]> records) {
            throw new UnsupportedOperationException("no batches");
        }
    }

    /** Takes records out, verified where the contender can. Used by one thread. */
    interface Reader {

        /** Takes one record by the cheapest way there is; false when there is none now. */
        boolean pop();

        /** Takes one record as an object that the caller may keep; false when there is none now. */
        default boolean popMessage() {
            throw new UnsupportedOperationException("no messages");
        }

        /** Takes up to {@code max} records in one call; returns how many. */
        default int popBatch(int max) {
            throw new UnsupportedOperationException("no batches");
        }

        /** Lets go of everything that this reader has taken. */
        void ack();
    }
}
