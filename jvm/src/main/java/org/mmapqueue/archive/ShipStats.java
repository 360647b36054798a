package org.mmapqueue.archive;

import java.time.Instant;
import java.util.Optional;

/**
 * What a shipper has done since it was started.
 *
 * @param records shipped
 * @param bytes of these records, uncompressed, headers included
 * @param runs stored
 * @param failures attempts that have failed because of the archive's file system
 * @param lastRun when the last run was stored; empty before the first
 * @param hasBegun whether it has found the archive's end, from which it continues
 * @param failure why the last attempt has failed, or why it has ended; empty after a success
 * @param hasEnded whether it ships no more
 */
public record ShipStats(
        long records,
        long bytes,
        long runs,
        long failures,
        Optional<Instant> lastRun,
        boolean hasBegun,
        Optional<String> failure,
        boolean hasEnded) {}
