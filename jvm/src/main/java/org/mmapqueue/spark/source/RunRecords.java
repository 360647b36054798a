package org.mmapqueue.spark.source;

import org.mmapqueue.MessageHandler;
import org.mmapqueue.RecordSink;
import org.mmapqueue.archive.ArchiveReader;

/**
 * The records of runs, in order.
 *
 * @param reader the reader of the runs
 */
record RunRecords(ArchiveReader reader) implements SequentialReader {

    @Override
    public long offset() {
        return reader.offset();
    }

    /** The number of runs. */
    @Override
    public long segments() {
        return reader.runs();
    }

    @Override
    public long damagedRecords() {
        return reader.lost();
    }

    @Override
    public int read(int maxRecords, long maxBytes, RecordSink sink) {
        return reader.read(maxRecords, maxBytes, sink);
    }

    @Override
    public int read(int maxRecords, long maxBytes, MessageHandler handler) {
        return reader.read(maxRecords, maxBytes, handler);
    }

    @Override
    public void close() {
        reader.close();
    }
}
