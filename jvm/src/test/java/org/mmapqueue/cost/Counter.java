package org.mmapqueue.cost;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts what one thread runs: bytecode instructions of the queue's classes, and their calls of other classes. {@link
 * CountingLoader} inserts the calls of this class.
 */
public final class Counter {
    private static final List<String> NAMES = new ArrayList<>();
    private static volatile Thread counted;
    private static long instructions;
    private static long[] calls = {};

    private Counter() {}

    /** The id of a method; called while classes are loaded. */
    static synchronized int idOf(String method) {
        int id = NAMES.indexOf(method);
        if (id < 0) {
            id = NAMES.size();
            NAMES.add(method);
        }
        return id;
    }

    /** The next {@code count} instructions are about to run. */
    public static void add(int count) {
        if (counted == Thread.currentThread()) {
            instructions += count;
        }
    }

    /** A method of another class is about to be called. */
    public static void call(int id) {
        if (counted == Thread.currentThread()) {
            if (id >= calls.length) {
                calls = Arrays.copyOf(calls, id + 64);
            }
            calls[id]++;
        }
    }

    /** The counts of one piece of work. */
    record Counts(long instructions, Map<String, Long> calls) {
        /** The number of calls of the methods that match {@code owner.name}. */
        long of(String regex) {
            return calls.entrySet().stream()
                    .filter(entry -> entry.getKey().matches(regex))
                    .mapToLong(Map.Entry::getValue)
                    .sum();
        }
    }

    /** Counts the work of the calling thread. */
    static Counts count(Runnable work) {
        instructions = 0;
        Arrays.fill(calls, 0);
        counted = Thread.currentThread();
        try {
            work.run();
        } finally {
            counted = null;
        }
        Map<String, Long> named = new TreeMap<>();
        synchronized (Counter.class) {
            for (int id = 0; id < calls.length; id++) {
                if (calls[id] > 0) {
                    named.put(NAMES.get(id), calls[id]);
                }
            }
        }
        return new Counts(instructions, named);
    }
}
