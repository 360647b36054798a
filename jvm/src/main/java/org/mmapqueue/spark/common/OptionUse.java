package org.mmapqueue.spark.common;

/** What an option may have an effect on. */
public enum OptionUse {
    /** A batch read. */
    BATCH_READ("a batch read"),
    /** A stream that is read in micro-batches. */
    STREAM_READ("a streaming read"),
    /** A stream that is read in real-time mode. */
    REAL_TIME_READ("a read in real-time mode"),
    /** A batch write. */
    BATCH_WRITE("a batch write"),
    /** A stream that is written. */
    STREAM_WRITE("a streaming write"),
    /** A queue that CREATE TABLE makes. */
    CREATE("a new table");

    private final String text;

    OptionUse(String text) {
        this.text = text;
    }

    /** For messages. */
    @Override
    public String toString() {
        return text;
    }
}
