package org.mmapqueue.soak;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.support.ChildJvm;

/** What a race has tried and found; goes from a child to its parent by lines. Any number of threads. */
final class RaceTally {
    private static final String COUNT = "count ";
    private static final String FAULT = "fault ";
    private static final String DONE = "done";
    private static final int FRAMES = 12;

    private final Map<String, Long> counts = new TreeMap<>();
    private final List<String> faults = new ArrayList<>();

    synchronized void add(String what, long number) {
        counts.merge(what, number, Long::sum);
    }

    void count(String what) {
        add(what, 1);
    }

    synchronized void fault(String where, Throwable fault) {
        StringBuilder text = new StringBuilder(where).append(": ").append(fault);
        StackTraceElement[] frames = fault.getStackTrace();
        for (int i = 0; i < Math.min(FRAMES, frames.length); i++) {
            text.append(" < ").append(frames[i].getFileName()).append(':').append(frames[i].getLineNumber());
        }
        faults.add(text.toString().replace('\n', ' '));
    }

    synchronized List<String> faults() {
        return List.copyOf(faults);
    }

    synchronized Map<String, Long> counts() {
        return new TreeMap<>(counts);
    }

    synchronized long of(String what) {
        return counts.getOrDefault(what, 0L);
    }

    /** Says all to the parent. */
    synchronized void say() {
        counts.forEach((what, number) -> System.out.println(COUNT + number + " " + what));
        faults.forEach(fault -> System.out.println(FAULT + fault));
        System.out.println(DONE);
    }

    /** Takes what a child says up to its end, which must be a good one. */
    void take(String who, ChildJvm child) throws IOException, InterruptedException {
        boolean done = false;
        for (String line = child.line(); line != null; line = child.line()) {
            done |= line.equals(DONE);
            if (line.startsWith(COUNT)) {
                String[] words = line.split(" ", 3);
                add(words[2], Long.parseLong(words[1]));
            } else if (line.startsWith(FAULT)) {
                fault(who, line.substring(FAULT.length()));
            }
        }
        int code = child.exitCode();
        if (!done || code != 0) {
            fault(who, "the process ended with exit code " + code + (done ? "" : ", and not at its end"));
        }
    }

    private synchronized void fault(String who, String text) {
        faults.add(who + ": " + text);
    }
}
