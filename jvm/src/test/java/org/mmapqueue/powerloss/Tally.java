package org.mmapqueue.powerloss;

import java.util.Map;
import java.util.TreeMap;

/** What a number of runs has done, for the table at the end. */
final class Tally {
    private final Map<String, Integer> operations = new TreeMap<>();
    private final Map<String, Integer> cuts = new TreeMap<>();

    void operation(String name) {
        operations.merge(name, 1, Integer::sum);
    }

    void cut(String place) {
        cuts.merge(place, 1, Integer::sum);
    }

    int operations() {
        return operations.values().stream().mapToInt(Integer::intValue).sum();
    }

    int cuts() {
        return cuts.values().stream().mapToInt(Integer::intValue).sum();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append(String.format("%d operations%n", operations()));
        operations.forEach((name, count) -> text.append(String.format("  %-34s %9d%n", name, count)));
        text.append(String.format("%d cuts%n", cuts()));
        cuts.forEach((name, count) -> text.append(String.format("  %-34s %9d%n", name, count)));
        return text.toString();
    }
}
