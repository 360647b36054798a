package org.mmapqueue.damage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/**
 * The target of the fuzzer: the input determines a queue and the changes of its files. The fuzzer forges checksums, so
 * the contents of such a queue are undefined. But verifying, repairing, opening, reading and writing it must end, with
 * a result or with an error of this library.
 *
 * <p>Input: queue (1 byte), options (1 byte: bit 0 corrects the checksums of headers, bit 1 repairs the queue first),
 * then changes of 12 bytes: file (1), kind (1), position in words of 8 bytes (2), value (8).
 */
public final class DamageFuzz {
    private static final int MOST_POPS = 2000;
    private static final int MOST_CHANGES = 8;
    private static final int CHANGE = 12;
    private static final int LARGEST_FILE = 64 * 1024;

    private static final List<Map<String, byte[]>> QUEUES = new ArrayList<>();
    private static Path temp;

    private DamageFuzz() {}

    /** Creates the queues, once in a process. */
    public static void fuzzerInitialize() throws IOException {
        Path making = QuickDirectory.create();
        for (Shape shape : Shape.values()) {
            Path at = shape.make(making.resolve(shape.name()), making.resolve(shape + "-aside"))
                    .path();
            Map<String, byte[]> files = new TreeMap<>();
            Directories.fingerprint(at).keySet().forEach(each -> files.put(each, Directories.read(at.resolve(each))));
            QUEUES.add(files);
        }
        Directories.delete(making);
        temp = QuickDirectory.create();
    }

    /** Deletes temporary files, at the end of the process. */
    public static void fuzzerTearDown() {
        Directories.delete(temp);
    }

    /** One run; an exception is a finding. */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
        ByteBuffer from = ByteBuffer.wrap(input).order(ByteOrder.LITTLE_ENDIAN);
        if (from.remaining() < 2 + CHANGE) {
            return;
        }
        Map<String, byte[]> files = new TreeMap<>(QUEUES.get((from.get() & 0xFF) % QUEUES.size()));
        int how = from.get();
        for (int i = 0; i < MOST_CHANGES && from.remaining() >= CHANGE; i++) {
            change(files, from);
        }
        if ((how & 1) != 0) {
            files.replaceAll(DamageFuzz::correctChecksum);
        }
        Path at = temp.resolve("fuzzed");
        Path repaired = temp.resolve("repaired");
        try {
            Files.createDirectories(at.resolve("consumers"));
            for (Map.Entry<String, byte[]> each : files.entrySet()) {
                Files.write(at.resolve(each.getKey()), each.getValue());
            }
            allowed(() -> Verifier.verify(at, Progress.NONE));
            boolean whole = (how & 2) != 0 && allowed(() -> Repairer.repair(at, repaired, false, Progress.NONE));
            allowed(() -> use(whole ? repaired : at));
        } finally {
            for (Path each : List.of(at, repaired)) {
                if (Files.exists(each)) {
                    Directories.delete(each);
                }
            }
        }
    }

    /** Runs inputs again, from files that the fuzzer has written. */
    public static void main(String[] files) throws IOException {
        fuzzerInitialize();
        try {
            for (String each : files) {
                System.out.println(each);
                fuzzerTestOneInput(Files.readAllBytes(Path.of(each)));
            }
        } finally {
            fuzzerTearDown();
        }
    }

    private static boolean allowed(Runnable work) {
        try {
            work.run();
            return true;
        } catch (MmapQueueException e) {
            if (e.getMessage() == null) {
                throw new AssertionError("an error without a message", e);
            }
            return false;
        }
    }

    private static void use(Path at) {
        try (MmapQueue queue = MmapQueue.open(
                QueueConfig.builder(at).flushPeriod(Duration.ofMinutes(10)).build())) {
            for (String name : queue.consumers()) {
                Consumer consumer = queue.consumer(name, StartAt.EARLIEST);
                try {
                    int pops = 0;
                    for (Message each = consumer.poll(); each != null; each = consumer.poll()) {
                        if (++pops > MOST_POPS) {
                            throw new AssertionError("more records than were pushed");
                        }
                    }
                } finally {
                    consumer.close();
                }
            }
            long first = queue.firstOffset();
            queue.push(new byte[100]);
            queue.get(first);
        }
    }

    // ---- changes

    private static void change(Map<String, byte[]> files, ByteBuffer from) {
        List<String> names = List.copyOf(files.keySet());
        String name = names.get((from.get() & 0xFF) % names.size());
        int what = from.get() & 0xFF;
        int word = from.getShort() & 0xFFFF;
        long value = from.getLong();
        byte[] bytes = files.get(name).clone();
        if (bytes.length < Long.BYTES) {
            return;
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int at = word % (bytes.length / Long.BYTES) * Long.BYTES;
        switch (what % 6) {
            case 0 -> buffer.putLong(at, buffer.getLong(at) ^ value);
            case 1 -> buffer.putLong(at, value);
            case 2 -> buffer.putLong(at, buffer.getLong(at) + value);
            case 3 -> bytes = Arrays.copyOf(bytes, (int) Math.floorMod(value, (long) LARGEST_FILE));
            case 4 -> {
                byte[] other = files.get(names.get((int) Math.floorMod(value, (long) names.size())));
                int start = (int) Math.floorMod(value >> 8, other.length + 1L);
                int length = (int) Math.floorMod(value >> 32, 1024L);
                length = Math.min(length, Math.min(other.length - start, bytes.length - at));
                System.arraycopy(other, start, bytes, at, length);
            }
            default -> {
                files.remove(names.size() > 1 ? name : "");
                return;
            }
        }
        files.put(name, bytes);
    }

    private static byte[] correctChecksum(String name, byte[] bytes) {
        if (name.equals("meta.dat")) {
            return correctChecksum(bytes, 72, 144);
        }
        if (name.endsWith("_segment.dat")) {
            return correctChecksum(bytes, 0, 60);
        }
        return name.endsWith(".dat") ? correctChecksum(bytes, 0, 32) : bytes;
    }

    private static byte[] correctChecksum(byte[] bytes, int from, int checksum) {
        if (bytes.length < checksum + Integer.BYTES) {
            return bytes;
        }
        byte[] right = bytes.clone();
        CRC32C crc = new CRC32C();
        crc.update(right, from, checksum - from);
        ByteBuffer.wrap(right).order(ByteOrder.LITTLE_ENDIAN).putInt(checksum, (int) crc.getValue());
        return right;
    }
}
