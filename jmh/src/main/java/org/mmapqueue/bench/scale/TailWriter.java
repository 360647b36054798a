package org.mmapqueue.bench.scale;

import java.io.IOException;

/** Brings a queue to a size, flushes it, pushes a tail that nothing flushes, says so, and waits to be killed. */
final class TailWriter {
    private TailWriter() {}

    /**
     * Writes.
     *
     * @param arguments those of {@link ScaleQueue}; payload bytes that are flushed, and that are not
     */
    public static void main(String[] arguments) throws IOException {
        ScaleQueue lane = ScaleQueue.of(arguments, false);
        lane.bringTo(ScaleQueue.records(Long.parseLong(arguments[3])));
        lane.queue.flush();
        lane.push(ScaleQueue.records(Long.parseLong(arguments[4])));
        System.out.println(lane.queue.endOffset());
        // Ends by itself when whoever is to kill it has gone.
        while (System.in.read() >= 0) {
            Thread.onSpinWait();
        }
    }
}
