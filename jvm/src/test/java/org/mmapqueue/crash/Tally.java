package org.mmapqueue.crash;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What was tried and found, in groups; printed as one table. Any number of threads. */
final class Tally {
    /** What is counted. */
    enum Count {
        DIRECTORIES,
        ROUNDS,
        KILLS,
        OPENING,
        CLOSING,
        READERS,
        CALLS,
        RECORDS,
        FAILURES
    }

    private final Map<String, EnumMap<Count, Long>> groups = new LinkedHashMap<>();
    private final List<String> failures = new ArrayList<>();

    synchronized void add(String group, Count count, long more) {
        groups.computeIfAbsent(group, name -> new EnumMap<>(Count.class)).merge(count, more, Long::sum);
    }

    synchronized long sum(Count count) {
        return groups.values().stream()
                .mapToLong(each -> each.getOrDefault(count, 0L))
                .sum();
    }

    synchronized void failed(String group, String what) {
        add(group, Count.FAILURES, 1);
        failures.add(group + ": " + what);
    }

    synchronized List<String> failures() {
        return List.copyOf(failures);
    }

    /** A Markdown table with a line for each group, and one for all. */
    synchronized String table() {
        StringBuilder table = new StringBuilder("| what |");
        StringBuilder rule = new StringBuilder("|---|");
        for (Count count : Count.values()) {
            table.append(' ').append(title(count)).append(" |");
            rule.append("---:|");
        }
        table.append('\n').append(rule).append('\n');
        groups.keySet().stream().sorted().forEach(group -> line(table, group, groups.get(group)));
        EnumMap<Count, Long> all = new EnumMap<>(Count.class);
        for (Count count : Count.values()) {
            all.put(count, sum(count));
        }
        line(table, "all", all);
        return table.toString();
    }

    private static String title(Count count) {
        return switch (count) {
            case DIRECTORIES -> "directories";
            case ROUNDS -> "rounds";
            case KILLS -> "kills";
            case OPENING -> "while opening";
            case CLOSING -> "while closing";
            case READERS -> "of readers";
            case CALLS -> "calls returned";
            case RECORDS -> "records pushed";
            case FAILURES -> "failures";
        };
    }

    private static void line(StringBuilder table, String group, EnumMap<Count, Long> counts) {
        table.append("| ").append(group).append(" |");
        for (Count count : Count.values()) {
            table.append(String.format(Locale.ROOT, " %,d |", counts.getOrDefault(count, 0L)));
        }
        table.append('\n');
    }
}
