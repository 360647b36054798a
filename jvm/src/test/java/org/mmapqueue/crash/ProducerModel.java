package org.mmapqueue.crash;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.LongFunction;
import org.mmapqueue.harness.Violation;

/** The expected sequences of the idempotent producers. Not thread-safe. */
final class ProducerModel {
    /** Whether a record exists in the log. */
    enum Found {
        YES,
        NO,
        UNKNOWN
    }

    /** The highest sequence of each producer that has surely been pushed. */
    private final Map<Long, Long> sequences = new TreeMap<>();
    /** The call of each producer that has not returned. */
    private final Map<Long, Event> begun = new TreeMap<>();
    /** The call of each thread, as it began. */
    private final Map<Long, Event> calls = new HashMap<>();

    /** The name of a producer. */
    static String name(long producer) {
        return "producer-" + producer;
    }

    Map<Long, Long> sequences() {
        return new TreeMap<>(sequences);
    }

    private long sequence(long producer) {
        return sequences.getOrDefault(producer, -1L);
    }

    /** An idempotent append begins, or has returned. */
    void push(long thread, Event event) {
        if (event.phase() == Event.Phase.BEGIN) {
            calls.put(thread, event);
            begun.put(event.value(2), event);
            return;
        }
        Event call = calls.remove(thread);
        long producer = call.value(2);
        long sequence = call.value(3);
        begun.remove(producer);
        if (event.phase() == Event.Phase.DONE) {
            boolean known = sequence(producer) >= sequence;
            if (known == event.value(0) >= 0) {
                throw new Violation("sequence " + sequence + " of " + name(producer)
                        + (known ? " existed, and was appended again" : " did not exist, and was not appended"));
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
     * Checks all producers after a process has ended: a sequence in progress is known if and only if its records exist.
     * From then on it must stay so.
     */
    void check(LongFunction<OptionalLong> lastSequence, LongFunction<Found> record) {
        for (Event call : begun.values()) {
            if (call.kind() == Event.Kind.FORGET) {
                if (lastSequence.apply(call.value(0)).isEmpty()) {
                    sequences.remove(call.value(0));
                }
                continue;
            }
            long producer = call.value(2);
            long sequence = call.value(3);
            boolean isKnown = lastSequence.apply(producer).orElse(-1) >= sequence;
            boolean wasKnown = sequence(producer) >= sequence;
            Found found = record.apply(call.value(0));
            if (wasKnown ? found == Found.YES : found != Found.UNKNOWN && isKnown != (found == Found.YES)) {
                throw new Violation("sequence " + sequence + " of " + name(producer) + " is " + (isKnown ? "" : "not ")
                        + "known; do its records exist? " + found);
            }
            if (isKnown) {
                sequences.merge(producer, sequence, Math::max);
            }
        }
        begun.clear();
        calls.clear();
        sequences.forEach((producer, sequence) -> {
            OptionalLong found = lastSequence.apply(producer);
            if (!found.equals(OptionalLong.of(sequence))) {
                throw new Violation(
                        "the last sequence of " + name(producer) + " is " + found + ", expected " + sequence);
            }
        });
    }
}
