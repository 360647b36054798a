package org.mmapqueue.spark.source;

import org.mmapqueue.MessageHandler;
import org.mmapqueue.RecordSink;

/** Reads the records of a range in order, as {@link org.mmapqueue.RecordReader}, and moves no consumer. Not thread-safe. */
public interface SequentialReader extends AutoCloseable {

    /**
     * The position.
     *
     * @return the offset of the next record
     */
    long offset();

    /**
     * The number of segments or runs read so far.
     *
     * @return at least 0
     */
    long segments();

    /**
     * The number of records skipped because of damage.
     *
     * @return at least 0
     */
    long damagedRecords();

    /**
     * Reads records, each into an array of its own.
     *
     * @param maxRecords the maximum number of records, at least 1
     * @param maxBytes the maximum number of payload bytes, at least 1; a larger first record is read nevertheless
     * @param sink called with each record, in order
     * @return the number of records; 0 at the end of the range, or if the next one does not exist yet
     * @throws org.mmapqueue.errors.OutOfRangeException if the next record is not retained any more
     * @throws org.mmapqueue.errors.CorruptException if the next record is damaged
     * @throws org.mmapqueue.errors.ArchiveException if no file of an archive has the next record
     */
    int read(int maxRecords, long maxBytes, RecordSink sink);

    /**
     * Reads records without an allocation for each; see {@link #read(int, long, RecordSink)}.
     *
     * @param maxRecords the maximum number of records, at least 1
     * @param maxBytes the maximum number of payload bytes, at least 1; a larger first record is read nevertheless
     * @param handler called with each record, in order
     * @return the number of records
     */
    int read(int maxRecords, long maxBytes, MessageHandler handler);

    @Override
    void close();
}
