package org.mmapqueue.crash;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a process says that it is about to do, or has done. It says each before the thread goes on, so what is said last
 * of a thread is where the kill met it.
 *
 * @param kind the call
 * @param phase whether it begins, has returned, or was refused
 * @param actor which thread of the process
 * @param values what the call is about; see the kinds
 */
record Event(Kind kind, Phase phase, int actor, long... values) {
    /** The calls; in brackets the values of begin, and of done. */
    enum Kind {
        /** Waiting for its orders: [], []. */
        READY,
        /** Opening the queue: [], [end offset, key of the first record to pop or -1 (version 1)]. */
        OPEN,
        /** Closing it: [], []. */
        CLOSE,
        /** A record or a batch: [key of the first, count], [offset of the first]. */
        PUSH,
        /**
         * A record or a batch of a producer that pushes it once: [key of the first, count, producer, sequence], [offset
         * of the first, or -1 when it is there already].
         */
        PUSH_ONCE,
        /** Forgetting what a producer has pushed: [producer], []. */
        FORGET,
        /** Taking a consumer up, or making it: [consumer], [consumer, committed offset]. */
        TAKE,
        /** Giving it up: [consumer], [consumer]. */
        RELEASE,
        /** Making one for others: [consumer], [consumer]. */
        CREATE,
        /** Deleting one: [consumer], [consumer]. */
        DELETE,
        /** Popping: [consumer], [consumer, then of each record offset and key]. */
        POP,
        /** A cumulative ack: [consumer, offset], the same. */
        ACK,
        /** Acks one by one: [consumer, offsets], the same. */
        ACK_SINGLE,
        /** Giving back: [consumer, offset], the same. */
        NACK,
        /** Moving: [consumer, offset or one of the places], [consumer, place as begun, committed offset]. */
        SEEK,
        /** A record that was read at random: [], [offset, key]. */
        GET,
        /** A flush: [], []. */
        FLUSH,
        /** Deleting free files: [], []. */
        GC,
        /** What must not happen; the process says on its standard error what it was: [], []. */
        FAULT
    }

    /** Where the call is. */
    enum Phase {
        BEGIN,
        DONE,
        REFUSED
    }

    /** The most values: what a pipe takes in one piece, which a kill can not tear. */
    static final int MOST_VALUES = 500;
    /** A place for SEEK: what is not known before. */
    static final long ANYWHERE = -1;
    /** A place for SEEK: where the consumer is. */
    static final long COMMITTED = -2;

    private static final int HEAD = 5;

    long value(int index) {
        return values[index];
    }

    int consumer() {
        return (int) values[0];
    }

    /** The same with offsets that are counted from {@code base}, which is 0 but in version 1. */
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

    /** All that was said, in the order in which it was. */
    static List<Event> all(byte[] said) {
        List<Event> events = new ArrayList<>();
        ByteBuffer buffer = ByteBuffer.wrap(said);
        for (Event event = next(buffer); event != null; event = next(buffer)) {
            events.add(event);
        }
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("the journal ends in the middle of an event");
        }
        return events;
    }

    /** The next one that is there as a whole; null when none is. */
    static Event next(ByteBuffer said) {
        if (said.remaining() < HEAD || said.remaining() < HEAD + Long.BYTES * said.getShort(said.position() + 3)) {
            return null;
        }
        Kind kind = Kind.values()[said.get()];
        Phase phase = Phase.values()[said.get()];
        int actor = said.get();
        long[] values = new long[said.getShort()];
        for (int i = 0; i < values.length; i++) {
            values[i] = said.getLong();
        }
        return new Event(kind, phase, actor, values);
    }

    @Override
    public String toString() {
        return kind + " " + phase + " of thread " + actor + " " + Arrays.toString(values);
    }
}
