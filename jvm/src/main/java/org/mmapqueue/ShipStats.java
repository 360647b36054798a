package org.mmapqueue;

import java.time.Instant;
import java.util.Optional;

/**
 * The counters and the state of a shipper since its start.
 *
 * @param records number of shipped records, without those that a repair has lost
 * @param bytes bytes of these records, uncompressed, headers included
 * @param runs number of stored runs
 * @param failures number of attempts that failed because of the archive's file system
 * @param lastRun time at which the last run was stored; empty before the first run
 * @param hasBegun whether the shipper has found the archive's end, from which it continues
 * @param failure the error of the last attempt, or the error that ended the shipper; empty after a success
 * @param failingSince time of the first failure since the last success; empty after a success
 * @param hasEnded whether the shipper has ended
 */
public record ShipStats(
        long records,
        long bytes,
        long runs,
        long failures,
        Optional<Instant> lastRun,
        boolean hasBegun,
        Optional<String> failure,
        Optional<Instant> failingSince,
        boolean hasEnded) {}
