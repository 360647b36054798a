package org.mmapqueue.spark.write.staging;

import java.io.Serializable;

/**
 * A file with the rows of one task for one partition.
 *
 * @param partition the queue's partition
 * @param name the file's name, in the directory of the write
 * @param size the file's size in bytes
 * @param count the number of rows
 * @param logBytes upper limit of the rows' size in the log, in bytes
 * @param checksum CRC32C of the file
 * @param digest of the rows, see {@link RowDigest}
 */
public record StagedFile(int partition, String name, long size, long count, long logBytes, int checksum, long digest)
        implements Serializable {}
