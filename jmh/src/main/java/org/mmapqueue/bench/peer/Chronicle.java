package org.mmapqueue.bench.peer;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import net.openhft.chronicle.bytes.SyncMode;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.RollCycles;
import net.openhft.chronicle.queue.impl.StoreFileListener;
import net.openhft.chronicle.wire.DocumentContext;
import org.mmapqueue.bench.Subject;
import org.mmapqueue.bench.Shape;

/**
 * Chronicle Queue by its low-level path: bytes are written straight into the mapping through {@code writingDocument}
 * and read the same way, one appender for each thread, no method writers, no text. It has no checksums and no ring: it
 * goes on in a new file when a cycle of its clock is over, and files are left to the user. So the clock here is one
 * that moves on when as many bytes were written as the ring holds, and a file is deleted when the reader has left it.
 * Readers share one tailer, as tailers are otherwise copies of the whole stream.
 */
public final class Chronicle implements Subject {
    private static final long CYCLE_MILLIS = TimeUnit.DAYS.toMillis(1);

    private final Map<Integer, File> files = new ConcurrentSkipListMap<>();
    private final AtomicLong clock = new AtomicLong(System.currentTimeMillis());
    private final AtomicLong written = new AtomicLong();
    private final ChronicleQueue queue;
    private final long rollBytes;
    private final int payload;
    private final int recordsPerSync;
    private final Object tailerLock = new Object();
    private ExcerptTailer tailer;

    /**
     * Makes an empty queue.
     *
     * @param recordsPerSync a durable push calls its sync() after so many; 0 for no such pushes, and for the mode in
     *     which sync() does nothing
     */
    public Chronicle(Path directory, Shape shape, int recordsPerSync) {
        this.recordsPerSync = recordsPerSync;
        rollBytes = shape.ringBytes();
        payload = shape.payload();
        queue = ChronicleQueue.singleBuilder(directory)
                .rollCycle(RollCycles.FAST_DAILY)
                .syncMode(recordsPerSync > 0 ? SyncMode.SYNC : SyncMode.NONE)
                .timeProvider(clock::get)
                .storeFileListener(new StoreFileListener() {
                    @Override
                    public void onAcquired(int cycle, File file) {
                        files.put(cycle, file);
                    }

                    @Override
                    public void onReleased(int cycle, File file) {
                        // It may not have been read yet.
                    }
                })
                .build();
    }

    @Override
    public Writer writer() {
        return new ChronicleWriter(queue.createAppender());
    }

    @Override
    public synchronized Reader reader() {
        if (tailer == null) {
            tailer = queue.createTailer();
            tailer.singleThreadedCheckDisabled(true);
        }
        return new ChronicleReader();
    }

    @Override
    public void close() {
        queue.close();
    }

    private final class ChronicleWriter implements Writer {
        private static final long TELL_BYTES = 1 << 20;
        private final ExcerptAppender appender;
        private long untold;
        private int unsynced;

        ChronicleWriter(ExcerptAppender appender) {
            this.appender = appender;
            appender.singleThreadedCheckDisabled(true);
        }

        @Override
        public boolean push(byte[] record) {
            try (DocumentContext document = appender.writingDocument()) {
                document.wire().bytes().write(record);
            }
            untold += record.length;
            if (untold >= TELL_BYTES) {
                roll();
            }
            return true;
        }

        @Override
        public boolean pushSync(byte[] record) {
            push(record);
            if (++unsynced >= recordsPerSync) {
                appender.sync();
                unsynced = 0;
            }
            return true;
        }

        private void roll() {
            long now = written.addAndGet(untold);
            if (now / rollBytes > (now - untold) / rollBytes) {
                clock.addAndGet(CYCLE_MILLIS);
            }
            untold = 0;
        }
    }

    private final class ChronicleReader implements Reader {
        private final byte[] heap = new byte[payload];
        private int cycle = Integer.MIN_VALUE;

        @Override
        public boolean pop() {
            synchronized (tailerLock) {
                try (DocumentContext document = tailer.readingDocument()) {
                    if (!document.isPresent()) {
                        return false;
                    }
                    document.wire().bytes().read(heap);
                    return true;
                }
            }
        }

        @Override
        public void ack() {
            int now = tailer.cycle();
            if (now != cycle) {
                cycle = now;
                deleteBefore(now);
            }
        }

        private void deleteBefore(int current) {
            try {
                for (Iterator<Map.Entry<Integer, File>> entries =
                                files.entrySet().iterator();
                        entries.hasNext(); ) {
                    Map.Entry<Integer, File> entry = entries.next();
                    if (entry.getKey() >= current) {
                        return;
                    }
                    Files.deleteIfExists(entry.getValue().toPath());
                    entries.remove();
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
