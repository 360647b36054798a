package org.mmapqueue.archive;

import java.util.UUID;

/**
 * A partition of an archive: one queue of one host. The name of its registration says both.
 *
 * @param id the partition's number in the archive, 0 or more; numbers are never reused
 * @param queue the queue's UUID
 */
public record PartitionEntry(int id, UUID queue) {}
