package org.mmapqueue.harness;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.support.ChildJvm;

/**
 * The operations of a run, counted by name, and the faults that it has found. A child process prints its tally for its
 * parent. Thread-safe.
 */
public final class Tally {
    private static final String COUNT = "count ";
    private static final String FAULT = "fault ";
    private static final String DONE = "done";
    private static final int FRAMES = 12;

    private final Map<String, Long> counts = new TreeMap<>();
    private final List<String> faults = new ArrayList<>();

    public synchronized void add(String name, long number) {
        counts.merge(name, number, Long::sum);
    }

    public void count(String name) {
        add(name, 1);
    }

    /** Adds what another tally has counted, without its faults. */
    public void addAll(Tally other) {
        other.counts().forEach(this::add);
    }

    public synchronized long of(String name) {
        return counts.getOrDefault(name, 0L);
    }

    public synchronized long sum() {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }

    public synchronized Map<String, Long> counts() {
        return new TreeMap<>(counts);
    }

    /** Adds a fault with the top of its stack, on one line. */
    public void fault(String source, Throwable fault) {
        StringBuilder text = new StringBuilder(fault.toString());
        StackTraceElement[] frames = fault.getStackTrace();
        for (int i = 0; i < Math.min(FRAMES, frames.length); i++) {
            text.append(" < ").append(frames[i].getFileName()).append(':').append(frames[i].getLineNumber());
        }
        fault(source, text.toString().replace('\n', ' '));
    }

    public synchronized void fault(String source, String text) {
        faults.add(source + ": " + text);
    }

    public synchronized List<String> faults() {
        return List.copyOf(faults);
    }

    /** Prints everything for the parent process. */
    public synchronized void print() {
        counts.forEach((name, number) -> System.out.println(COUNT + number + " " + name));
        faults.forEach(fault -> System.out.println(FAULT + fault));
        System.out.println(DONE);
    }

    /** Adds what a child process prints until it ends. It is a fault if the child does not end with exit code 0. */
    public void addFrom(String source, ChildJvm child) throws IOException, InterruptedException {
        boolean done = false;
        for (String line = child.line(); line != null; line = child.line()) {
            done |= line.equals(DONE);
            if (line.startsWith(COUNT)) {
                String[] words = line.split(" ", 3);
                add(words[2], Long.parseLong(words[1]));
            } else if (line.startsWith(FAULT)) {
                fault(source, line.substring(FAULT.length()));
            }
        }
        int code = child.exitCode();
        if (!done || code != 0) {
            fault(source, "the process ended with exit code " + code + (done ? "" : ", before its work was done"));
        }
    }
}
