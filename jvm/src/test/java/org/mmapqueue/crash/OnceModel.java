package org.mmapqueue.crash;

import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.LongFunction;

/** What must be known of the producers that push their batches once. Not thread-safe. */
final class OnceModel {
    /** Whether a record is in the log. */
    enum Found {
        THERE,
        NOT_THERE,
        UNKNOWN
    }

    /** The highest sequence of each producer that is surely known. */
    private final Map<Long, Long> sequences = new TreeMap<>();
    /** The call of each producer that has not returned. */
    private final Map<Long, Event> begun = new TreeMap<>();

    /** The name of a producer. */
    static String name(long producer) {
        return "once-" + producer;
    }

    Map<Long, Long> sequences() {
        return new TreeMap<>(sequences);
    }

    /** A call, as it began, and what is said of it now. */
    void apply(Event call, Event event) {
        long producer = call.value(2);
        long sequence = call.value(3);
        if (event.phase() == Event.Phase.BEGIN) {
            begun.put(producer, event);
            return;
        }
        begun.remove(producer);
        boolean known = sequences.getOrDefault(producer, -1L) >= sequence;
        if (event.phase() == Event.Phase.DONE) {
            if (known == event.value(0) >= 0) {
                throw new CrashError("sequence " + sequence + " of producer " + name(producer)
                        + (known
                                ? " was in the queue, and was pushed again"
                                : " was not in the queue, and was not pushed"));
            }
            sequences.merge(producer, sequence, Math::max);
        }
    }

    void forget(Event event) {
        if (event.phase() == Event.Phase.BEGIN) {
            begun.put(event.value(0), event);
        } else {
            sequences.remove(event.value(0));
            begun.remove(event.value(0));
        }
    }

    /**
     * After a process has ended: what is known, and what was being pushed, is there or not, the one like the other.
     * From now on it must stay so.
     */
    void check(LongFunction<OptionalLong> known, LongFunction<Found> record) {
        for (Event call : begun.values()) {
            if (call.kind() == Event.Kind.FORGET) {
                if (known.apply(call.value(0)).isEmpty()) {
                    sequences.remove(call.value(0));
                }
                continue;
            }
            long producer = call.value(2);
            long sequence = call.value(3);
            boolean isKnown = known.apply(producer).orElse(-1) >= sequence;
            boolean wasKnown = sequences.getOrDefault(producer, -1L) >= sequence;
            Found found = record.apply(call.value(0));
            if (wasKnown ? found == Found.THERE : found != Found.UNKNOWN && isKnown != (found == Found.THERE)) {
                throw new CrashError("sequence " + sequence + " of producer " + name(producer) + " is "
                        + (isKnown ? "" : "not ") + "known, and its records are " + found);
            }
            if (isKnown) {
                sequences.merge(producer, sequence, Math::max);
            }
        }
        begun.clear();
        sequences.forEach((producer, sequence) -> {
            OptionalLong found = known.apply(producer);
            if (!found.equals(OptionalLong.of(sequence))) {
                throw new CrashError("producer " + name(producer) + " has pushed " + found + ", expected " + sequence);
            }
        });
    }
}
