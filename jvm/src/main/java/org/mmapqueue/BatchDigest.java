package org.mmapqueue;

/**
 * Distinguishes batches that were pushed with the same sequence. {@link MmapQueue#pushOnce(String, long,
 * BatchDigest, Records, java.time.Duration, boolean) pushOnce} stores it with the sequence; the queue
 * neither computes nor compares it.
 *
 * @param count the number of records
 * @param checksum a checksum of the payloads, by an algorithm that the caller chooses
 */
public record BatchDigest(long count, long checksum) {}
