package org.mmapqueue.bench.scale;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.mmapqueue.QueueStats;

/** Fills a queue without a consumer running, then drains it, in a JVM of its own; samples every 256 MiB. */
final class FillRun {
    private static final long WINDOW = ScaleQueue.records(256L << 20);

    private FillRun() {}

    /**
     * Runs.
     *
     * @param arguments those of {@link ScaleQueue}; payload bytes to fill with; the file for the samples,
     *     members of a JSON object
     */
    public static void main(String[] arguments) throws IOException {
        try (ScaleQueue queue = ScaleQueue.of(arguments, true)) {
            long records = ScaleQueue.records(Long.parseLong(arguments[3]));
            Sampler sampler = new Sampler(queue);
            for (long done = 0; done < records; done += WINDOW) {
                long count = Math.min(WINDOW, records - done);
                sampler.time("push", count, () -> queue.push(count));
            }
            for (long done = 0; done < records; done += WINDOW) {
                long count = Math.min(WINDOW, records - done);
                sampler.time("pop", count, () -> queue.pop(count));
            }
            QueueStats stats = queue.opened.stats();
            Files.writeString(
                    Path.of(arguments[4]),
                    "\"peak_mapped_segments\": " + stats.peakMappedSegments() + ",\n \"samples\": " + sampler.json());
        }
    }
}
