package org.mmapqueue.core;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Payload;

/**
 * A process that reads commands from its input, one a line, and executes them on a queue that another process writes.
 * Each answer is one line: the result of the call, or the exception's name and values.
 *
 * <pre>
 * own NAME            opens or creates a consumer at the oldest record; its committed offset
 * pop COUNT           pops COUNT records, waiting for them, and checks them; the first one's offset
 * ack OFFSET          "ok"
 * seek OFFSET         the next offset to read
 * release             closes the consumer; "ok"
 * delete NAME         "ok"
 * </pre>
 */
final class ConsumerChild {
    private final MmapQueue queue;
    private Consumer consumer;

    private ConsumerChild(MmapQueue queue) {
        this.queue = queue;
    }

    /** Arguments: directory. Ends with its input. */
    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        try (MmapQueue queue = MmapQueue.open(
                QueueConfig.builder(Path.of(args[0])).readOnly(true).build())) {
            ConsumerChild child = new ConsumerChild(queue);
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                System.out.println(child.answer(line.split(" ")));
            }
        }
    }

    private String answer(String[] words) throws InterruptedException {
        try {
            return switch (words[0]) {
                case "own" -> {
                    consumer = queue.consumer(words[1], StartAt.EARLIEST);
                    yield Long.toString(consumer.committedOffset());
                }
                case "pop" -> Long.toString(pop(Integer.parseInt(words[1])));
                case "ack" -> {
                    consumer.ackUpTo(Long.parseLong(words[1]));
                    yield "ok";
                }
                case "seek" -> {
                    consumer.seek(StartAt.offset(Long.parseLong(words[1])));
                    yield Long.toString(consumer.readOffset());
                }
                case "release" -> {
                    consumer.close();
                    yield "ok";
                }
                case "delete" -> {
                    queue.deleteConsumer(words[1]);
                    yield "ok";
                }
                default -> throw new IllegalArgumentException(words[0]);
            };
        } catch (LockedException e) {
            return "LockedException " + e.pid();
        } catch (DroppedException e) {
            return "DroppedException " + e.first() + " " + e.last();
        } catch (MmapQueueException e) {
            return e.getClass().getSimpleName() + " " + e.getMessage();
        }
    }

    private long pop(int count) throws InterruptedException {
        long first = consumer.readOffset();
        for (long next = first; next < first + count; next++) {
            Message message = consumer.pop(Duration.ofSeconds(60));
            if (message.offset() != next || Payload.numberOf(message.data()) != next) {
                throw new IllegalStateException("record " + message.offset() + " instead of " + next);
            }
        }
        return first;
    }
}
