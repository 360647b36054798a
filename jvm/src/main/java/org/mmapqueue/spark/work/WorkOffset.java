package org.mmapqueue.spark.work;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** The number of a micro-batch's delivery. The queue's consumer knows its records, the checkpoint does not. Immutable. */
final class WorkOffset extends Offset {
    private final long number;

    WorkOffset(long number) {
        this.number = number;
    }

    /** The number of any offset of this source, also of one that Spark has read from a checkpoint. */
    static long number(Offset any) {
        if (any instanceof WorkOffset own) {
            return own.number;
        }
        try {
            return Long.parseLong(any.json());
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    "the checkpoint has the offset " + any.json() + ", which is not of process_stream: use another", e);
        }
    }

    @Override
    public String json() {
        return Long.toString(number);
    }
}
