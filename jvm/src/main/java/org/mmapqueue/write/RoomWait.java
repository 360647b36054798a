package org.mmapqueue.write;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The wait of one push for room: a warning in the log, once, when it is long. For one thread. */
public final class RoomWait {
    private static final Logger LOG = LoggerFactory.getLogger(RoomWait.class);

    /** From this time on a wait is long. */
    static final long LONG_SECONDS = 5;

    private final LongSupplier nanos;
    private final Consumer<String> warn;
    private final long begin;
    private boolean warned;

    /** A wait that begins now. */
    public RoomWait() {
        this(System::nanoTime, LOG::warn);
    }

    RoomWait(LongSupplier nanos, Consumer<String> warn) {
        this.nanos = nanos;
        this.warn = warn;
        begin = nanos.getAsLong();
    }

    /**
     * Notes that the push still has no room. The caller holds no lock: appenders of the log are the program's code. Their
     * exceptions, and those of the reason, do not fail the push.
     *
     * @param reason says why
     */
    public void goesOn(Supplier<String> reason) {
        if (warned || nanos.getAsLong() - begin < TimeUnit.SECONDS.toNanos(LONG_SECONDS)) {
            return;
        }
        warned = true;
        try {
            warn.accept("no room for " + LONG_SECONDS + " s: " + reason.get()
                    + "; to make room, ack records, delete a consumer that is not needed, or resize the queue");
        } catch (RuntimeException e) {
            LOG.debug("a long wait for room could not be reported", e);
        }
    }
}
