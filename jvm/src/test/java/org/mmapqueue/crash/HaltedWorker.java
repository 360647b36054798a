package org.mmapqueue.crash;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.mmapqueue.harness.KillPoint;

/** A process that runs a {@link Scenario} and halts at its n-th file operation. */
final class HaltedWorker {
    /** The exit status of a process that has halted. */
    static final int HALTED = 9;

    private final KillPoint killPoint;
    private final int last;

    private HaltedWorker(int last) {
        this.last = last;
        this.killPoint = KillPoint.at(last - 1);
    }

    /** The standard input has one line: the operation, the part of the scenario, the directory. */
    public static void main(String[] args) throws Exception {
        Journal journal = new Journal(new FileOutputStream(FileDescriptor.out));
        journal.done(Event.Kind.READY, 0);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line = input.readLine();
        if (line == null) {
            return; // not needed
        }
        String[] words = line.split(" ", 3);
        HaltedWorker worker = new HaltedWorker(Integer.parseInt(words[0]));
        new Scenario(Path.of(words[2]), Integer.parseInt(words[1]), journal, worker::before).run();
    }

    // Filling a slot counts as two operations; between them the slot is filled by half.
    private void before(Path path, boolean fillsSlot) {
        count();
        if (fillsSlot) {
            if (killPoint.calls() + 1 == last) {
                KillPoints.fillHalf(path);
            }
            count();
        }
    }

    private void count() {
        if (killPoint.isHere()) {
            Runtime.getRuntime().halt(HALTED); // like SIGKILL: no hook and no finally block runs
        }
    }
}
