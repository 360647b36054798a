package org.mmapqueue.swap;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.ThreadLocalRandom;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.stress.Memory;

/** Written segments in real files, and a swapper that may keep few of them mapped. */
final class SwappedSegments {
    private static final int SEGMENT = 4096;
    private static final int COUNT = 12;

    private final int most;
    private final Swapper swapper;

    SwappedSegments(int most) {
        this.most = most;
        this.swapper = new Swapper(
                new SegmentRing(DiskStorage.INSTANCE, Memory.directory(), new Geometry(Format.V2, SEGMENT, COUNT)),
                most,
                true,
                new Ends());
        try {
            for (long id = 0; id < COUNT; id++) {
                Segment segment = swapper.enter(id);
                for (int at = 0; at < SEGMENT; at += 8) {
                    segment.putLong(at, id + 1);
                }
                swapper.unpin(segment);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Every segment but the last one may be evicted. */
    private static final class Ends implements Scopes {
        @Override
        public long writing() {
            return COUNT - 1;
        }

        @Override
        public long[] reading() {
            return new long[] {ThreadLocalRandom.current().nextInt(COUNT)};
        }
    }

    /** Pins a random segment, checks it and unpins it; 1 if its bytes are its own and the limit holds, else 0. */
    int readOne() {
        long id = ThreadLocalRandom.current().nextInt(COUNT);
        try {
            Segment segment = swapper.pin(id);
            boolean good = segment.id() == id && swapper.mapped() <= most;
            for (int at = 0; at < SEGMENT; at += 64) {
                good &= segment.getLong(at) == id + 1;
            }
            swapper.unpin(segment);
            return good ? 1 : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void evict() {
        try {
            swapper.evictWhenFull();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
