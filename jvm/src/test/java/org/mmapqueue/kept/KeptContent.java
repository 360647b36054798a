package org.mmapqueue.kept;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.QueueStats;
import org.mmapqueue.RecordReader;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** All that a program finds in the queues of a kept directory, as lines of text: its manifest. */
final class KeptContent {
    private static final String INTERRUPTED = "resize.ready";

    private KeptContent() {}

    /** Reads a copy of the directory: reading a queue changes it. */
    static List<String> of(Path root, Path aside) {
        Directories.copy(root, aside);
        try (Stream<Path> queues = Files.list(aside)) {
            List<String> lines = new ArrayList<>();
            for (Path queue : queues.sorted().toList()) {
                lines.add("directory " + queue.getFileName());
                lines.addAll(ofQueue(queue));
            }
            return lines;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            Directories.delete(aside);
        }
    }

    private static List<String> ofQueue(Path directory) {
        List<String> lines = new ArrayList<>();
        // An interrupted resize is completed by the open; until then there is nothing to verify.
        if (!Files.exists(directory.resolve(INTERRUPTED))) {
            lines.add(verified(Verifier.verify(directory, Progress.NONE)));
        }
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(directory).build())) {
            QueueStats stats = queue.stats();
            QueueConfig config = queue.config();
            lines.add("id " + queue.id());
            lines.add("ring of " + stats.capacitySegments() + " segments of " + stats.segmentSize() + " bytes");
            lines.add("epoch " + stats.epoch());
            for (String key : List.of("max_event_size", "timestamps", "retain_ms", "retain_bytes")) {
                lines.add(key + " " + config.asMap().get(key));
            }
            lines.add("low watermark " + stats.lowWatermark() + " of "
                    + stats.slowestConsumer().orElse("no consumer"));
            lines.addAll(records(queue));
            for (String name : queue.producers()) {
                long last = queue.lastSequence(name).orElseThrow();
                lines.add("producer " + name + " last " + last + " digest "
                        + queue.digest(name, last)
                                .map(each -> each.count() + " " + each.checksum())
                                .orElse("none"));
            }
            for (String name : queue.consumers()) {
                lines.addAll(consumer(queue.consumer(name, StartAt.EARLIEST)));
            }
        }
        return lines;
    }

    private static String verified(VerifyReport report) {
        List<String> findings = report.findings().stream()
                .map(each -> each.kind() + " at " + Path.of(each.file()).getFileName() + " " + each.position())
                .toList();
        List<String> consumers = report.consumers().stream()
                .map(each -> each.name() + " at " + each.position() + " " + each.offset())
                .toList();
        return "verified: closed " + report.clean() + ", records " + report.records() + ", bytes "
                + report.payloadBytes() + ", offsets " + report.firstOffset() + ".." + report.endOffset()
                + ", segments "
                + report.segments() + ", consumers " + consumers + ", findings " + findings;
    }

    private static List<String> records(MmapQueue queue) {
        Map<Long, String> found = new TreeMap<>();
        try (RecordReader reader = queue.reader(queue.firstOffset(), queue.endOffset())) {
            while (reader.read(
                            100,
                            Long.MAX_VALUE,
                            (long offset, long timestamp, byte[] data) ->
                                    found.put(offset, timestamp + " " + data.length + " " + Directories.sha256(data)))
                    > 0) {
                // until the end
            }
        }
        List<String> lines = new ArrayList<>();
        for (long offset = queue.firstOffset(); offset < queue.endOffset(); offset++) {
            lines.add("record " + offset + " " + found.getOrDefault(offset, "lost"));
        }
        lines.add("end " + queue.endOffset());
        return lines;
    }

    private static List<String> consumer(Consumer consumer) {
        List<String> lines = new ArrayList<>();
        lines.add("consumer " + consumer.name() + " committed " + consumer.committedOffset() + " label "
                + consumer.label().orElse("none"));
        while (true) {
            try {
                Message message = consumer.poll();
                if (message == null) {
                    return lines;
                }
                lines.add("  pops " + message.offset() + " attempt " + message.attempts());
            } catch (DroppedException e) {
                lines.add("  dropped " + e.first() + ".." + e.last());
            }
        }
    }
}
