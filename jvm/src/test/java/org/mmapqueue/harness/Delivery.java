package org.mmapqueue.harness;

import java.util.List;
import java.util.function.LongPredicate;

/**
 * The rule of what a consumer pops from its committed offset on: every record, in order, except records that were acked
 * out of order.
 *
 * @param consumer its name, for errors
 * @param mayBeAcked whether a record may have been acked: then it may be skipped
 * @param isAcked whether a record must still count as acked: then it must be skipped
 */
public record Delivery(String consumer, LongPredicate mayBeAcked, LongPredicate isAcked) {
    /**
     * Checks all records that the consumer has popped.
     *
     * @param popped their offsets, in the order of the pops
     * @param from the committed offset
     * @param end the log end
     */
    public void check(List<Long> popped, long from, long end) {
        long next = from;
        for (long offset : popped) {
            Violation.unless(
                    offset >= next && offset < end,
                    "consumer %s has popped offset %d, expected %d or later, before %d",
                    consumer,
                    offset,
                    next,
                    end);
            checkSkipped(next, offset);
            Violation.unless(
                    !isAcked.test(offset),
                    "consumer %s has popped offset %d again, which it had acked",
                    consumer,
                    offset);
            next = offset + 1;
        }
        checkSkipped(next, end);
    }

    /** Checks the records between two pops. */
    public void checkSkipped(long from, long to) {
        for (long offset = from; offset < to; offset++) {
            Violation.unless(
                    isAcked.test(offset) || mayBeAcked.test(offset),
                    "consumer %s has skipped offset %d of %d to %d, which it had not acked",
                    consumer,
                    offset,
                    from,
                    to);
        }
    }
}
