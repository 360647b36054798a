package org.mmapqueue.crash;

import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.harness.Tally;

/** What was tried and found, by group; printed as one table. Thread-safe. */
final class CrashTable {
    /** The columns. */
    enum Count {
        DIRECTORIES("directories"),
        ROUNDS("rounds"),
        KILLS("kills"),
        OPENING("while opening"),
        CLOSING("while closing"),
        READERS("of readers"),
        CALLS("calls returned"),
        RECORDS("records pushed"),
        FAILURES("failures");

        private final String title;

        Count(String title) {
            this.title = title;
        }
    }

    private final Map<String, Map<Count, Long>> groups = new TreeMap<>();
    private final Tally faults = new Tally();

    synchronized void add(String group, Count count, long more) {
        groups.computeIfAbsent(group, name -> new EnumMap<>(Count.class)).merge(count, more, Long::sum);
    }

    synchronized long sum(Count count) {
        return groups.values().stream()
                .mapToLong(each -> each.getOrDefault(count, 0L))
                .sum();
    }

    void failed(String group, String what) {
        add(group, Count.FAILURES, 1);
        faults.fault(group, what);
    }

    List<String> failures() {
        return faults.faults();
    }

    /** A Markdown table with a line for each group, and one for all. */
    synchronized String table() {
        StringBuilder table = new StringBuilder("| what |");
        StringBuilder rule = new StringBuilder("|---|");
        Map<Count, Long> all = new EnumMap<>(Count.class);
        for (Count count : Count.values()) {
            table.append(' ').append(count.title).append(" |");
            rule.append("---:|");
            all.put(count, sum(count));
        }
        table.append('\n').append(rule).append('\n');
        groups.forEach((group, counts) -> line(table, group, counts));
        line(table, "all", all);
        return table.toString();
    }

    private static void line(StringBuilder table, String group, Map<Count, Long> counts) {
        table.append("| ").append(group).append(" |");
        for (Count count : Count.values()) {
            table.append(String.format(Locale.ROOT, " %,d |", counts.getOrDefault(count, 0L)));
        }
        table.append('\n');
    }
}
