package org.mmapqueue.tool.copy;

import java.nio.file.Path;
import org.mmapqueue.tool.report.Progress;

/** A process that resizes a queue, to and fro, until it is killed. Arguments: the directory. */
final class ResizingProcess {
    private ResizingProcess() {}

    public static void main(String[] arguments) {
        Path path = Path.of(arguments[0]);
        System.out.println("begins");
        for (int round = 0; ; round++) {
            Copier.resize(path, new RingSize((40 + round % 3) * 16384L, 4096L << round % 3), Progress.NONE);
        }
    }
}
