package org.mmapqueue.bench.scale;

import java.io.IOException;

/** Fills a queue to a size, flushes it, pushes an unflushed tail, prints the end offset, and waits to be killed. */
final class TailWriter {
    private TailWriter() {}

    /**
     * Writes the queue.
     *
     * @param arguments those of {@link ScaleQueue}; payload bytes to flush, and of the tail
     */
    public static void main(String[] arguments) throws IOException {
        ScaleQueue queue = ScaleQueue.of(arguments, false);
        queue.resizeTo(ScaleQueue.records(Long.parseLong(arguments[3])));
        queue.opened.flush();
        queue.push(ScaleQueue.records(Long.parseLong(arguments[4])));
        System.out.println(queue.opened.endOffset());
        // Ends by itself when its parent has ended.
        while (System.in.read() >= 0) {
            Thread.onSpinWait();
        }
    }
}
