package org.mmapqueue.archive;

import java.time.Instant;
import java.util.Map;

/**
 * A consumer of an archive. Retention keeps what it has not committed.
 *
 * @param name its name
 * @param label its purpose, for people; may be empty
 * @param updated when it committed last
 * @param offsets by partition: all records before this offset are done; a partition without one is not done at all
 */
public record ArchiveConsumer(String name, String label, Instant updated, Map<Integer, Long> offsets) {
    /** Copies the offsets. */
    public ArchiveConsumer {
        offsets = Map.copyOf(offsets);
    }
}
