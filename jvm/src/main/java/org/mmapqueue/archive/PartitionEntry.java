package org.mmapqueue.archive;

import java.time.Instant;
import java.util.UUID;

/**
 * A partition of an archive: one queue of one host.
 *
 * @param id the partition's number in the archive, 0 or more; numbers are never reused
 * @param queue the queue's UUID
 * @param local the number of the partition in the queue's directory
 * @param host the host that ships the queue
 * @param created time of the registration
 */
public record PartitionEntry(int id, UUID queue, int local, String host, Instant created) {}
