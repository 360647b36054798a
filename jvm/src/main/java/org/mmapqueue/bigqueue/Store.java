package org.mmapqueue.bigqueue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;

/** Opens queues for the adapter, and converts exceptions to those of bigqueue. */
final class Store {
    /** Bytes of a segment. A file is filled before it is used, so small segments suit small queues. */
    static final int SEGMENT_BYTES = 4 << 20;

    /** The maximum number of segments that a ring can have, since bigqueue grows until the disk is full. */
    private static final int SEGMENTS = 1 << 30;

    private static final int MOST_ITEM_BYTES = (128 << 20) - 1;

    private Store() {}

    static MmapQueue open(String directory, String name, int pageSize) throws IOException {
        if (pageSize < BigArrayImpl.MINIMUM_DATA_PAGE_SIZE) {
            throw new IllegalArgumentException(
                    "page size " + pageSize + ", allowed: at least " + BigArrayImpl.MINIMUM_DATA_PAGE_SIZE + " bytes");
        }
        QueueConfig config = QueueConfig.builder(Path.of(directory, name))
                .segmentSize(SEGMENT_BYTES)
                .queueCapacitySegments(SEGMENTS)
                .maxEventSize(Math.min(pageSize, MOST_ITEM_BYTES))
                .timestamps(true)
                .build();
        return io(() -> MmapQueue.open(config));
    }

    /** Calls the queue, and converts exceptions to those of bigqueue. */
    static <T> T io(Supplier<T> call) throws IOException {
        try {
            return call.get();
        } catch (OutOfRangeException e) {
            throw (IndexOutOfBoundsException) new IndexOutOfBoundsException(e.getMessage()).initCause(e);
        } catch (MmapQueueException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    static void io(Runnable call) throws IOException {
        io(() -> {
            call.run();
            return call;
        });
    }
}
