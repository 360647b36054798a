package org.mmapqueue.tool.scan;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.UUID;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;

/** The segment files of a directory by segment id. Keeps the files used last open. Not thread-safe. */
public final class Slots implements Closeable {
    private static final int MOST_OPEN = 8;

    private final Storage storage;
    private final Path directory;
    private final Geometry geometry;
    private final UUID queue;
    private final Deque<Slot> open = new ArrayDeque<>();

    public Slots(Storage storage, Path directory, Geometry geometry, UUID queue) {
        this.storage = storage;
        this.directory = directory;
        this.geometry = geometry;
        this.queue = queue;
    }

    Geometry geometry() {
        return geometry;
    }

    public Slot get(long id) throws IOException {
        for (Slot each : open) {
            if (each.id() == id) {
                return each;
            }
        }
        Slot slot = look(id);
        open.addFirst(slot);
        if (open.size() > MOST_OPEN) {
            close(open.removeLast());
        }
        return slot;
    }

    private Slot look(long id) throws IOException {
        Path path = directory.resolve(geometry.fileName(id));
        DataFile file;
        try {
            file = storage.open(path, Storage.Mode.READ);
        } catch (NoSuchFileException e) {
            return new Slot(id, path, null, null, null, new Mismatch(0, "no file", "segment " + id));
        }
        try {
            SegmentBytes bytes = new SegmentBytes(file);
            ByteBuffer head = bytes.head(SegmentHeader.LENGTH);
            Mismatch wrong = SegmentHeader.check(head);
            SegmentHeader header = SegmentHeader.decode(head);
            if (wrong == null) {
                wrong = header.check(queue, id, geometry);
            }
            long size = file.size();
            Mismatch fault = wrong != null || size == geometry.segmentSize()
                    ? wrong
                    : new Mismatch(
                            Math.min(size, geometry.segmentSize()),
                            size + " bytes",
                            Integer.toString(geometry.segmentSize()));
            return new Slot(id, path, bytes, wrong == null ? header : null, header, fault);
        } catch (IOException | RuntimeException | Error e) {
            file.close();
            throw e;
        }
    }

    private static void close(Slot slot) throws IOException {
        if (slot.bytes() != null) {
            slot.bytes().close();
        }
    }

    @Override
    public void close() throws IOException {
        while (!open.isEmpty()) {
            close(open.removeLast());
        }
    }
}
