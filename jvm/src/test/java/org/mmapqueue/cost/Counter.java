package org.mmapqueue.cost;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one thread has run: bytecode instructions of the queue's own classes, and their calls to methods of others.
 * {@link CountingLoader} puts the calls of it into the code.
 */
public final class Counter {
    private static final List<String> NAMES = new ArrayList<>();
    private static volatile Thread counted;
    private static long instructions;
    private static long[] calls = {};

    private Counter() {}

    /** The number of a method; called while classes are loaded. */
    static synchronized int idOf(String method) {
        int id = NAMES.indexOf(method);
        if (id < 0) {
            id = NAMES.size();
            NAMES.add(method);
        }
        return id;
    }

    /** So many instructions are about to be run. */
    public static void add(int count) {
        if (counted == Thread.currentThread()) {
            instructions += count;
        }
    }

    /** A method of others is about to be called. */
    public static void call(int id) {
        if (counted == Thread.currentThread()) {
            if (id >= calls.length) {
                calls = Arrays.copyOf(calls, id + 64);
            }
            calls[id]++;
        }
    }

    /** What has been counted. */
    record Counts(long instructions, Map<String, Long> calls) {
        /** How often methods were called whose owner and name match. */
        long of(String regex) {
            return calls.entrySet().stream()
                    .filter(entry -> entry.getKey().matches(regex))
                    .mapToLong(Map.Entry::getValue)
                    .sum();
        }
    }

    /** Counts what the calling thread does in this work. */
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
