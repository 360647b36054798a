package org.mmapqueue.crash;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A process that goes through a {@link Scenario} and is gone at its n-th file operation. */
final class HaltedWorker {
    /** Its exit status then. */
    static final int HALTED = 9;

    private final int last;
    private int operations;

    private HaltedWorker(int last) {
        this.last = last;
    }

    /** Has no arguments; the standard input says one line: the operation, the part of the scenario, the directory. */
    public static void main(String[] args) throws Exception {
        Journal journal = new Journal(new FileOutputStream(FileDescriptor.out));
        journal.done(Event.Kind.READY, 0);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line = input.readLine();
        if (line == null) {
            return; // nobody needs it
        }
        String[] words = line.split(" ", 3);
        HaltedWorker worker = new HaltedWorker(Integer.parseInt(words[0]));
        new Scenario(Path.of(words[2]), Integer.parseInt(words[1]), journal, worker::before).run();
    }

    private void before(Path path, boolean fillsSlot) {
        count();
        if (fillsSlot && operations + 1 == last) {
            KillPoints.fillHalf(path);
            count();
        }
        if (fillsSlot) {
            operations++;
        }
    }

    private void count() {
        operations++;
        if (operations == last) {
            Runtime.getRuntime().halt(HALTED); // no hook, no finally: as SIGKILL does
        }
    }
}
