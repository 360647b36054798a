package org.mmapqueue.tool.copy;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.tool.report.Progress;

/**
 * A process that resizes a queue, and stops before one of the calls that change files, until it is killed. Arguments:
 * the directory, bytes of the new ring, bytes of a segment, the number of the call.
 */
final class ResizingProcess {
    /** Calls that change nothing, or nothing yet. */
    private static final Set<FaultyStorage.Call> READS = EnumSet.of(
            FaultyStorage.Call.OPEN, FaultyStorage.Call.SIZE, FaultyStorage.Call.READ, FaultyStorage.Call.MAP);

    private ResizingProcess() {}

    public static void main(String[] arguments) throws Exception {
        RingSize size = new RingSize(Long.parseLong(arguments[1]), Long.parseLong(arguments[2]));
        resize(Path.of(arguments[0]), size, Integer.parseInt(arguments[3]));
        System.out.println("ended");
    }

    /** Resizes a queue; returns how many calls change files. */
    static int resize(Path path, RingSize size, int stopsAt) throws Exception {
        int[] calls = new int[1];
        FaultyStorage storage = new FaultyStorage();
        storage.failWhen((call, file) -> {
            if (!READS.contains(call) && ++calls[0] == stopsAt) {
                System.out.println("at " + call);
                sleep();
            }
            return false;
        });
        Copier.resize(storage, path, size, Progress.NONE);
        return calls[0];
    }

    private static void sleep() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
