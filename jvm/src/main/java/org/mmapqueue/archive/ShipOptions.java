package org.mmapqueue.archive;

import java.time.Duration;
import org.mmapqueue.archive.run.ArchiveCodec;

/**
 * How a queue is shipped.
 *
 * @param host the name under which this host is registered
 * @param period between two runs while there are records
 * @param bytes of records that are shipped before the period is over
 * @param codec how runs are compressed
 * @param retain the age from which runs are deleted that every consumer of the archive has committed; zero for never
 */
public record ShipOptions(String host, Duration period, int bytes, ArchiveCodec codec, Duration retain) {}
