package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.MmapQueueException;

/**
 * Repeatedly fills a small disk with a queue and another file ({@code make fulldisk}): the push that meets the full disk
 * throws, no other record is lost, and pushes succeed again when the disk has room. Argument: a directory on that disk.
 */
public final class FullDisk {
    private static final int ROUNDS = 20;
    private static final int MAX_PUSHES = 1_000_000;
    private static final int LENGTH = 1000;
    private static final long MAX_BYTES = 256L << 20;
    private static final int BALLAST = 1 << 20;

    private long pushed;
    private long popped;
    private long failed;

    private FullDisk() {}

    /** Throws if a record is lost, or if no push fails. */
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        if (Files.getFileStore(directory).getTotalSpace() > MAX_BYTES) {
            throw new IllegalArgumentException(directory + " is on a disk of more than " + MAX_BYTES + " bytes");
        }
        new FullDisk().run(directory);
    }

    private void run(Path directory) throws IOException {
        QueueConfig config = QueueConfig.of(Map.of(
                "queue_dir",
                directory.resolve("queue").toString(),
                "segment_size",
                "64k",
                "queue_capacity_segments",
                "4000"));
        Path ballast = directory.resolve("ballast");
        for (int round = 0; round < ROUNDS; round++) {
            try (MmapQueue queue = MmapQueue.open(config)) {
                Files.write(ballast, new byte[BALLAST]);
                fill(queue);
                Files.delete(ballast); // makes room
                long before = pushed;
                push(queue);
                fill(queue);
                check(pushed > before + 1, "no push succeeds although the disk has room");
                drain(queue);
                check(queue.gc() > 0, "gc deletes no file");
                push(queue);
            }
        }
        System.out.printf("%d rounds, %d pushes, %d failed, %d popped, nothing lost%n", ROUNDS, pushed, failed, popped);
    }

    private void fill(MmapQueue queue) {
        try {
            for (int i = 0; i < MAX_PUSHES; i++) {
                push(queue);
            }
        } catch (MmapQueueException e) {
            check(e.getClass() == MmapQueueException.class && e.getMessage().contains("disk full"), e.toString());
            failed++;
            return;
        }
        throw new IllegalStateException("the disk is never full");
    }

    private void push(MmapQueue queue) {
        long offset = queue.push(ByteBuffer.allocate(LENGTH).putLong(0, pushed));
        check(offset == pushed, "offset " + offset + ", expected " + pushed);
        pushed++;
    }

    private void drain(MmapQueue queue) {
        for (Message message = queue.consumer().poll();
                message != null;
                message = queue.consumer().poll()) {
            check(
                    message.offset() == popped
                            && ByteBuffer.wrap(message.data()).getLong() == popped,
                    "record " + message.offset() + ", expected " + popped);
            popped++;
        }
        check(popped == pushed, "popped " + popped + " of " + pushed);
        queue.consumer().ackUpTo(popped - 1);
    }

    private static void check(boolean isTrue, String what) {
        if (!isTrue) {
            throw new IllegalStateException(what);
        }
    }
}
