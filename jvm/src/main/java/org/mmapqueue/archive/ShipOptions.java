package org.mmapqueue.archive;

import java.time.Duration;
import org.mmapqueue.archive.run.ArchiveCodec;

/**
 * How a queue is shipped.
 *
 * @param host the name under which this host is registered
 * @param period the time between two runs while records are pending
 * @param bytes bytes of records that are shipped before the period is over
 * @param codec the compression of runs
 * @param retain the age from which runs are deleted that no consumer needs; zero for never
 * @param abandon the age from which consumers of the queue itself do not keep a run any more; zero for never
 */
public record ShipOptions(
        String host, Duration period, int bytes, ArchiveCodec codec, Duration retain, Duration abandon) {
    /** Options by which a run is kept as long as a consumer of the queue itself needs it. */
    public ShipOptions(String host, Duration period, int bytes, ArchiveCodec codec, Duration retain) {
        this(host, period, bytes, codec, retain, Duration.ZERO);
    }
}
