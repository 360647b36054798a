package org.mmapqueue.spark.write.staging;

import java.io.Serializable;

/**
 * Where a task has put the rows that go to one partition.
 *
 * @param partition the queue's partition
 * @param name of the file, in the directory of the write
 * @param size bytes of the file
 * @param count how many rows
 * @param logBytes what they take of the partition's log, at most
 * @param checksum CRC32C of the file
 * @param digest of the rows, as {@link RowDigest} has it
 */
public record StagedFile(int partition, String name, long size, long count, long logBytes, int checksum, long digest)
        implements Serializable {}
