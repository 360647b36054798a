package org.mmapqueue;

/**
 * What tells one batch from another that comes under the same sequence: {@link MmapQueue#pushOnce(String, long,
 * BatchDigest, Records, java.time.Duration, boolean) pushOnce} stores it with the sequence, and neither computes nor
 * compares it. The checksum of records whose order may change is a sum over their checksums.
 *
 * @param count how many records
 * @param checksum of their bytes, by whatever rule the caller has
 */
public record BatchDigest(long count, long checksum) {}
