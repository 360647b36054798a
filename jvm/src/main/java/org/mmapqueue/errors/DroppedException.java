package org.mmapqueue.errors;

/** Records were dropped for a consumer that lagged more than max_consumer_lag. Its next call continues after them. */
public final class DroppedException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    private final long first;
    private final long last;

    /**
     * Makes the exception.
     *
     * @param consumer the consumer's name
     * @param first the offset of the first record that was dropped
     * @param last the offset of the last record that was dropped
     */
    public DroppedException(String consumer, long first, long last) {
        super("records " + first + ".." + last + " were dropped for consumer " + consumer
                + ": it lagged by more than max_consumer_lag, or did not ack them within max_age; it continues at "
                + (last + 1));
        this.first = first;
        this.last = last;
    }

    /** {@return the offset of the first record that was dropped} */
    public long first() {
        return first;
    }

    /** {@return the offset of the last record that was dropped} */
    public long last() {
        return last;
    }
}
