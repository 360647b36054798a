package org.mmapqueue.archive;

import java.time.Instant;
import java.util.Map;

/**
 * A consumer of an archive. Retention keeps the records that it has not committed.
 *
 * @param name the consumer's name
 * @param label a description for people; may be empty
 * @param updated time of the last commit
 * @param offsets committed offsets by partition: all records before an offset are committed; a partition without an
 *     offset has none committed
 */
public record ArchiveConsumer(String name, String label, Instant updated, Map<Integer, Long> offsets) {
    /** Copies the offsets. */
    public ArchiveConsumer {
        offsets = Map.copyOf(offsets);
    }
}
