package org.mmapqueue.archive;

import java.net.URI;
import java.util.Optional;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;

/**
 * Records of a partition that no run has, between runs or after the last one.
 *
 * @param first the offset of the first record
 * @param end the offset after the last record
 * @param reason why they are missing; empty if the archive does not say so, because files have vanished
 */
public record Gap(long first, long end, Optional<GapName.Reason> reason) {
    /** The number of records. */
    public long count() {
        return end - first;
    }

    /** Why the records are missing, as a sentence. */
    public String why() {
        return reason.map(GapName.Reason::text)
                .orElse("their files have vanished from the archive, and nobody has marked the records as lost");
    }

    /** The records and why they are missing, for messages. */
    String text(URI archive, int partition) {
        return archive + RunName.directory(partition) + ": records " + first + " to " + (end - 1) + " are missing: "
                + why();
    }

    /** The exception for a call that needs one of the records. */
    ArchiveException exception(URI archive, int partition) {
        return new ArchiveException(text(archive, partition), end);
    }
}
