package org.mmapqueue.archive;

import java.time.Instant;
import java.util.UUID;

/**
 * A partition of an archive: one queue of one host.
 *
 * @param id its number in the archive, 0 or more; numbers are never used again
 * @param queue the queue's UUID
 * @param local the number of the partition in the queue's directory
 * @param host the host that ships it
 * @param created when it was registered
 */
public record PartitionEntry(int id, UUID queue, int local, String host, Instant created) {}
