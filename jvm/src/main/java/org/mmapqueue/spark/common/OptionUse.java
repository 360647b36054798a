package org.mmapqueue.spark.common;

/** The operation that an option affects. */
public enum OptionUse {
    /** A batch read. */
    BATCH_READ("a batch read"),
    /** A streaming read in micro-batches. */
    STREAM_READ("a streaming read"),
    /** A streaming read in real-time mode. */
    REAL_TIME_READ("a read in real-time mode"),
    /** A batch write. */
    BATCH_WRITE("a batch write"),
    /** A streaming write. */
    STREAM_WRITE("a streaming write"),
    /** A write in real-time mode. */
    REAL_TIME_WRITE("a write in real-time mode"),
    /** CREATE TABLE. */
    CREATE("a new table");

    private final String text;

    OptionUse(String text) {
        this.text = text;
    }

    /** The name for messages. */
    @Override
    public String toString() {
        return text;
    }
}
