package org.mmapqueue.write;

import java.nio.file.Path;
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

    private final Path directory;
    private final Supplier<String> heldBy;
    private final LongSupplier nanos;
    private final Consumer<String> warn;
    private final long begin;
    private boolean warned;

    /**
     * A wait that begins now.
     *
     * @param directory the queue's directory
     * @param heldBy says what retains the ring
     */
    public RoomWait(Path directory, Supplier<String> heldBy) {
        this(directory, heldBy, System::nanoTime, LOG::warn);
    }

    RoomWait(Path directory, Supplier<String> heldBy, LongSupplier nanos, Consumer<String> warn) {
        this.directory = directory;
        this.heldBy = heldBy;
        this.nanos = nanos;
        this.warn = warn;
        begin = nanos.getAsLong();
    }

    /**
     * Notes that the push still has no room. The caller holds no lock: appenders of the log are the program's code. Their
     * exceptions, and those of {@code heldBy}, do not fail the push.
     */
    public void goesOn() {
        if (warned || nanos.getAsLong() - begin < TimeUnit.SECONDS.toNanos(LONG_SECONDS)) {
            return;
        }
        warned = true;
        try {
            warn.accept(warning(LONG_SECONDS, directory, heldBy.get()));
        } catch (RuntimeException e) {
            LOG.debug("a long wait for room could not be reported", e);
        }
    }

    /**
     * The text of the warning.
     *
     * @param seconds the wait so far
     * @param directory the queue's directory
     * @param heldBy what retains the ring
     * @return what is full, why, and how to make room
     */
    public static String warning(long seconds, Path directory, String heldBy) {
        return "no room for " + seconds + " s: the queue in " + directory
                + " is full: it holds records that are not acked; " + heldBy
                + "; to make room, ack records, delete a consumer that is not needed, or resize the queue";
    }
}
