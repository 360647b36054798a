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
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;

/**
 * Chronicle Queue by its low-level path: {@code writingDocument} and {@code readingDocument} copy bytes straight into and
 * out of the mapping, one appender for each thread. It has no checksums and no ring: it rolls to a new file with each
 * cycle of its clock, and never deletes files. So the clock here advances when as many bytes were written as the ring
 * holds, and the reader deletes files that it has left. Readers share one tailer, since each tailer reads all records.
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
     * @param recordsPerSync durable pushes for each call of sync(); 0 for no durable pushes, in the mode in which sync()
     *     does nothing
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
                        // Not read yet, maybe.
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
        private static final long REPORT_BYTES = 1 << 20;
        private final ExcerptAppender appender;
        private long unreported;
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
            unreported += record.length;
            if (unreported >= REPORT_BYTES) {
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
            long now = written.addAndGet(unreported);
            if (now / rollBytes > (now - unreported) / rollBytes) {
                clock.addAndGet(CYCLE_MILLIS);
            }
            unreported = 0;
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
