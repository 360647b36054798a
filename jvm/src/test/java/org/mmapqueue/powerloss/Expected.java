package org.mmapqueue.powerloss;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** What a cut of the power may leave: what is surely there, and what may be. */
final class Expected {
    /** A consumer. */
    static final class Reader {
        /** Where it may stand on the disk: each place since the last flush. */
        final Set<Long> places = new TreeSet<>();
        /** Records beyond its place that may be acked one by one. */
        final Set<Long> acked = new HashSet<>();
        /** Records of these that a clean close will note. */
        final Set<Long> kept = new HashSet<>();
        /** Records that are popped in memory and not acked. */
        final Set<Long> out = new TreeSet<>();
        /** Whether it is there; else it may be. */
        boolean isSure;
        /** Whether these are popped again in no case: the queue has been closed. */
        boolean remembersAcks;

        Reader(Collection<Long> places, boolean isSure) {
            this.places.addAll(places);
            this.isSure = isSure;
        }

        Reader copy() {
            Reader copy = new Reader(places, isSure);
            copy.acked.addAll(acked);
            copy.kept.addAll(kept);
            copy.out.addAll(out);
            copy.remembersAcks = remembersAcks;
            return copy;
        }
    }

    /** All records from offset 0 on, those of a push that has not returned at the end. */
    final List<Record> records = new ArrayList<>();

    final Map<String, Reader> readers = new TreeMap<>();
    /** Without a consumer the log is kept from here on, or from before. */
    long held;
    /** Records of pushes that have returned. */
    int pushed;
    /** Records of these that must be there. */
    int durable;

    Expected copy() {
        Expected copy = new Expected();
        copy.records.addAll(records);
        readers.forEach((name, reader) -> copy.readers.put(name, reader.copy()));
        copy.held = held;
        copy.pushed = pushed;
        copy.durable = durable;
        return copy;
    }

    /**
     * A flush, or something that flushes, has returned.
     *
     * @param committed where each consumer stands
     * @param mayDrop one that was dropped and has not noticed stands further ahead than it will say
     */
    void flushed(Map<String, Long> committed, boolean mayDrop) {
        durable = pushed;
        committed.forEach((name, place) -> {
            if (!mayDrop) {
                readers.get(name).places.clear();
            }
            readers.get(name).places.add(place);
        });
    }

    /** From where on records must be retained when no consumer is left. */
    long heldWithoutConsumers() {
        return Math.max(
                held,
                readers.values().stream()
                        .flatMap(reader -> reader.places.stream())
                        .mapToLong(Long::longValue)
                        .max()
                        .orElse(0));
    }

    /** Where each consumer may stand, for an error's text. */
    String places() {
        StringBuilder text = new StringBuilder();
        readers.forEach((name, reader) ->
                text.append(' ').append(name).append(reader.places).append(reader.isSure ? "" : "?"));
        return text.toString();
    }

    /** The log ends here from now on. */
    void endsAt(int end) {
        records.subList(end, records.size()).clear();
        pushed = end;
        durable = end;
    }
}
