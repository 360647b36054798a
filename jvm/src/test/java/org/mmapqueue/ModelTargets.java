package org.mmapqueue;

import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.mmapqueue.support.Micros;

/** Targets of seeks and look-ups in the model of a queue: random numbers become positions around the log. */
record ModelTargets(Setup setup, Supplier<MmapQueue> queue, IntSupplier end) {

    int first() {
        return setup.isV1() ? 0 : (int) queue.get().firstOffset();
    }

    // From a little before the log start to a little after the log end.
    int pick(int which) {
        return first() - 2 + which % (end.getAsInt() - first() + 5);
    }

    StartAt start(StartAt.Kind kind, int which) {
        return switch (kind) {
            case EARLIEST -> StartAt.EARLIEST;
            case LATEST -> StartAt.LATEST;
            case COMMITTED -> StartAt.COMMITTED;
            case OFFSET -> StartAt.offset(setup.isV1() ? which : pick(which));
            case TIMESTAMP -> StartAt.timestamp(Micros.instant(timeOf(which)));
        };
    }

    boolean isInRange(StartAt.Kind kind, int which) {
        return kind != StartAt.Kind.OFFSET || pick(which) >= first() && pick(which) <= end.getAsInt();
    }

    int numberOf(StartAt.Kind kind, int which) {
        return switch (kind) {
            case EARLIEST -> first();
            case LATEST -> end.getAsInt();
            case OFFSET -> pick(which);
            case TIMESTAMP -> firstSince(timeOf(which));
            case COMMITTED -> throw new IllegalArgumentException("not a position of the log");
        };
    }

    long timeOf(int which) {
        int number = pick(which);
        return number < first() || number >= end.getAsInt()
                ? number
                : queue.get().get(number).timestampMicros() + which % 3 - 1;
    }

    int firstSince(long micros) {
        return first() == end.getAsInt()
                ? end.getAsInt()
                : queue.get().getMany(first(), Integer.MAX_VALUE).stream()
                        .filter(message -> message.timestampMicros() >= micros)
                        .mapToInt(message -> (int) message.offset())
                        .findFirst()
                        .orElse(end.getAsInt());
    }
}
