package org.mmapqueue.tool;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.RecordReader;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.support.Directories;

/**
 * All that a copy must keep, as a program finds it. Two contents of the same queue are equal.
 *
 * @param id the queue's identity
 * @param end the offset of the next record
 * @param records the records that some consumer needs, by offset: timestamp and digest of the payload
 * @param consumers what each consumer pops, with attempts, and its label, by name
 */
public record QueueContent(String id, long end, Map<Long, String> records, Map<String, List<String>> consumers) {

    /** Reads a copy of the directory: reading a queue changes it. */
    public static QueueContent of(Path directory, Path aside) {
        Directories.copy(directory, aside);
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(aside).maxUnacked(1 << 30).build())) {
            Map<Long, String> records = new TreeMap<>();
            // A record before the first one was lost before it was shipped, or was dropped.
            long low = queue.consumerStats().stream()
                    .mapToLong(each -> Math.max(each.committedOffset(), queue.firstOffset()))
                    .min()
                    .orElse(queue.firstOffset());
            try (RecordReader reader = queue.reader(low, queue.endOffset())) { // which passes lost records
                MessageHandler put = (offset, micros, data, start, length, attempts) ->
                        records.put(offset, text(micros, Arrays.copyOfRange(data, start, start + length)));
                while (reader.read(1000, 1 << 20, put) > 0) {}
            } catch (ArchiveException e) {
                records.put(queue.endOffset(), "the archive lacks a record");
            }
            Map<String, List<String>> consumers = new TreeMap<>();
            for (String name : queue.consumers()) {
                consumers.put(name, popped(queue.consumer(name, StartAt.EARLIEST)));
            }
            return new QueueContent(queue.id().toString(), queue.endOffset(), records, consumers);
        } finally {
            Directories.delete(aside);
        }
    }

    private static List<String> popped(Consumer consumer) {
        List<String> popped = new ArrayList<>(List.of("label " + consumer.label()));
        while (true) {
            try {
                Message message = consumer.poll();
                if (message == null) {
                    return popped;
                }
                popped.add(message.offset() + " attempt " + message.attempts());
            } catch (DroppedException e) {
                popped.add(e.getMessage());
            } catch (ArchiveException e) {
                popped.add("the archive lacks a record");
                return popped;
            }
        }
    }

    private static String text(long micros, byte[] data) {
        return micros + " " + HexFormat.of().formatHex(data, 0, Math.min(16, data.length)) + " "
                + Directories.sha256(data);
    }
}
