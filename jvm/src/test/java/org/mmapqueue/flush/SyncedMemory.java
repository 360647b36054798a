package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.FillBlocks;
import org.mmapqueue.segment.Geometry;

/**
 * All that a flusher fsyncs, made of memory: the page of a queue with its default consumer and one named consumer. Each
 * fsync, and each store to the recovery point, is noted.
 */
final class SyncedMemory {
    /** Bytes of a block. */
    static final int BLOCK = 4096;

    final FillBlocks blocks = new FillBlocks(BLOCK);
    final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    final Cursors named = new Cursors("named");
    final Page meta = new Page();
    /** Thrown by every fsync from now on with a name that begins with {@link #failsAt}. */
    volatile IOException fails;

    volatile String failsAt = "";
    /** Run within each fsync. */
    volatile Consumer<String> during = what -> {};

    Flusher flusher(Geometry geometry, long periodMillis) {
        return new Flusher(
                "test-flusher",
                meta,
                geometry,
                blocks,
                (id, from, to) -> call("segment " + id + " " + from + "-" + to),
                () -> List.of(meta, named),
                List::of,
                periodMillis);
    }

    Syncer syncer(Geometry geometry) {
        return new Syncer(
                meta,
                geometry,
                blocks,
                (id, from, to) -> call("segment " + id + " " + from + "-" + to),
                () -> List.of(meta, named),
                List::of,
                new FlusherState(),
                () -> {});
    }

    void assertCalls(String... expected) {
        assertEquals(List.of(expected), List.copyOf(calls));
        calls.clear();
    }

    private void call(String what) throws IOException {
        calls.add(what);
        during.accept(what);
        if (fails != null && what.startsWith(failsAt)) {
            throw fails;
        }
    }

    class Cursors implements ConsumerCursors {
        private final String name;
        private volatile long committed;
        private volatile long reading;
        private volatile long dropped;

        Cursors(String name) {
            this.name = name;
        }

        @Override
        public long committed() {
            return committed;
        }

        @Override
        public void committed(long position) {
            committed = position;
        }

        @Override
        public long reading() {
            return reading;
        }

        @Override
        public void reading(long position) {
            reading = position;
        }

        @Override
        public long dropped() {
            return dropped;
        }

        @Override
        public long droppedFirst() {
            return 0;
        }

        @Override
        public void drop(long position, long first) {
            dropped = position;
        }

        @Override
        public boolean noteDrop(long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void force() throws IOException {
            call(name);
        }
    }

    final class Page extends Cursors implements MetaPage {
        private volatile long writing;
        private volatile long watermark;
        private volatile long reclaimed;
        private volatile long intact;
        private volatile long changes;
        private volatile boolean retains;

        Page() {
            super("meta");
        }

        @Override
        public MetaFields fields() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void fields(MetaFields next) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long writing() {
            return writing;
        }

        @Override
        public void writing(long position) {
            writing = position;
        }

        @Override
        public long watermark() {
            return watermark;
        }

        @Override
        public void watermark(long position) {
            calls.add("watermark " + position);
            watermark = position;
        }

        @Override
        public long reclaimed() {
            return reclaimed;
        }

        @Override
        public void reclaimed(long position) {
            reclaimed = position;
        }

        @Override
        public long reclaiming() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void reclaiming(long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long intact() {
            return intact;
        }

        @Override
        public void intact(long position) {
            intact = position;
        }

        @Override
        public long consumerChanges() {
            return changes;
        }

        @SuppressWarnings("NonAtomicVolatileUpdate") // one thread changes it
        @Override
        public void countConsumerChange() {
            changes++;
        }

        @Override
        public long heldFrom() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void heldFrom(long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean hasDefault() {
            return true;
        }

        @Override
        public void hasDefault(boolean there) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long retainMillis() {
            return retains ? 1 : 0;
        }

        @Override
        public long retainBytes() {
            return 0;
        }

        @Override
        public void retain(long millis, long bytes) {
            retains = millis > 0 || bytes > 0;
        }

        @Override
        public void mirror() {
            // Nothing to look at.
        }

        @Override
        public boolean isMirrored() {
            return true;
        }

        @Override
        public boolean clean() {
            return false;
        }

        @Override
        public void clean(boolean closed) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
