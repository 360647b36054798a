package org.mmapqueue.crash;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An entry of a process's journal: a call begins, or has ended. A thread writes it before it continues, so the last
 * entry of a thread shows where the kill met it.
 *
 * @param kind the call
 * @param phase whether it begins, has returned, or has thrown
 * @param actor which thread of the process
 * @param values arguments or results; see the kinds
 */
record Event(Kind kind, Phase phase, int actor, long... values) {
    /** The calls; in brackets the values at the begin, and after the return. */
    enum Kind {
        /** The process waits for its orders: [], []. */
        READY,
        /** Opens the queue: [], [end offset, key of the first record to pop or -1 (version 1)]. */
        OPEN,
        /** Closes the queue: [], []. */
        CLOSE,
        /** Pushes a record or a batch: [key of the first, count], [offset of the first]. */
        PUSH,
        /**
         * An idempotent append: [key of the first, count, producer, sequence], [offset of the first, or -1 if the
         * queue has the sequence already].
         */
        IDEMPOTENT_PUSH,
        /** Forgets the sequences of a producer: [producer], []. */
        FORGET,
        /** Opens a consumer, and creates it if it does not exist: [consumer], [consumer, committed offset]. */
        OPEN_CONSUMER,
        /** Closes a consumer: [consumer], [consumer]. */
        CLOSE_CONSUMER,
        /** Creates a consumer without opening it: [consumer], [consumer]. */
        CREATE_CONSUMER,
        /** Deletes a consumer: [consumer], [consumer]. */
        DELETE_CONSUMER,
        /** Pops: [consumer], [consumer, then offset and key of each record]. */
        POP,
        /** Acks all records up to one: [consumer, offset], the same. */
        ACK,
        /** Acks single records: [consumer, offsets], the same. */
        ACK_SINGLE,
        /** Requeues: [consumer, offset], the same. */
        NACK,
        /** Seeks: [consumer, offset, ANYWHERE or COMMITTED], [the same two, committed offset]. */
        SEEK,
        /** Reads a record at random: [], [offset, key]. */
        GET,
        /** Flushes: [], []. */
        FLUSH,
        /** Deletes free files: [], []. */
        GC,
        /** A fault; the standard error has its stack: [], []. */
        FAULT
    }

    /** The state of the call. */
    enum Phase {
        BEGIN,
        DONE,
        THREW
    }

    /** The most values: such an event is written to a pipe at once, so a kill cannot tear it. */
    static final int MAX_VALUES = 500;
    /** The target of a SEEK to EARLIEST or LATEST. */
    static final long ANYWHERE = -1;
    /** The target of a SEEK to COMMITTED. */
    static final long COMMITTED = -2;

    private static final int HEAD = 5;

    long value(int index) {
        return values[index];
    }

    int consumer() {
        return (int) values[0];
    }

    /** The same event with offsets that are counted from {@code base}, which is 0 except in version 1. */
    Event from(long base) {
        if (base == 0 || kind == Kind.SEEK) {
            return this;
        }
        long[] absolute = values.clone();
        for (int i = 1; i < values.length; i += kind == Kind.POP ? 2 : 1) {
            absolute[i] += base;
        }
        return new Event(kind, phase, actor, absolute);
    }

    byte[] bytes() {
        ByteBuffer buffer = ByteBuffer.allocate(HEAD + Long.BYTES * values.length);
        buffer.put((byte) kind.ordinal())
                .put((byte) phase.ordinal())
                .put((byte) actor)
                .putShort((short) values.length);
        for (long value : values) {
            buffer.putLong(value);
        }
        return buffer.array();
    }

    /** All events of a journal, in order. */
    static List<Event> all(byte[] journal) {
        List<Event> events = new ArrayList<>();
        ByteBuffer buffer = ByteBuffer.wrap(journal);
        for (Event event = next(buffer); event != null; event = next(buffer)) {
            events.add(event);
        }
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("the journal ends in the middle of an event");
        }
        return events;
    }

    /** The next complete event; null if there is none. */
    static Event next(ByteBuffer journal) {
        if (journal.remaining() < HEAD
                || journal.remaining() < HEAD + Long.BYTES * journal.getShort(journal.position() + 3)) {
            return null;
        }
        Kind kind = Kind.values()[journal.get()];
        Phase phase = Phase.values()[journal.get()];
        int actor = journal.get();
        long[] values = new long[journal.getShort()];
        for (int i = 0; i < values.length; i++) {
            values[i] = journal.getLong();
        }
        return new Event(kind, phase, actor, values);
    }

    @Override
    public String toString() {
        return kind + " " + phase + " of thread " + actor + " " + Arrays.toString(values);
    }
}
