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
 * @param retain the age from which runs are deleted that every consumer of the archive has committed; zero for never
 */
public record ShipOptions(String host, Duration period, int bytes, ArchiveCodec codec, Duration retain) {}
