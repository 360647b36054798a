package org.mmapqueue.core;

import java.nio.file.Path;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;

/**
 * Checks that the cursors of a version 2 queue are consistent: writing, recovery point, reclaimed, and those of
 * consumers. Changes nothing.
 */
record CursorOrderCheck(Path path, MetaPage meta, Registry registry, Geometry geometry) {

    /**
     * @throws CorruptException when two cursors contradict each other
     */
    void run() {
        long writing = meta.writing();
        if (writing < 0 || meta.watermark() < 0 || meta.watermark() > writing) {
            throw corrupt(
                    Word.WATERMARK,
                    "watermark is " + meta.watermark() + " and writing is " + writing
                            + ", expected 0 <= watermark <= writing");
        }
        // Reclaimed may be ahead by records that are published, but that the stored writing position has not passed
        // yet.
        if (meta.reclaimed() < 0
                || meta.reclaimed() % geometry.segmentSize() != 0
                || meta.reclaimed() > writing + geometry.segmentSize()) {
            throw corrupt(
                    Word.RECLAIMED,
                    "reclaimed is " + meta.reclaimed() + " and writing is " + writing + ", expected a multiple of "
                            + geometry.segmentSize() + ", 0 <= reclaimed <= writing");
        }
        if (meta.clean() && !meta.isMirrored()) {
            throw corrupt(
                    Word.WRITING,
                    "writing is " + writing + " and watermark is " + meta.watermark()
                            + ", but the table that was written when the queue was closed has other values");
        }
        for (Registry.Named each : registry.all()) {
            checkConsumer(each.name(), each.cursors(), writing);
        }
        if (meta.heldFrom() < 0 || meta.clean() && meta.heldFrom() > writing) {
            throw corrupt(
                    Word.HELD_FROM,
                    "held from is " + meta.heldFrom() + " and writing is " + writing + ", expected 0 or more"
                            + (meta.clean() ? ", and not ahead of writing" : ""));
        }
        long held = geometry.segmentOfEnd(writing) - geometry.segmentOf(registry.lowWatermark());
        if (held >= geometry.capacity()) {
            throw corrupt(
                    Word.WRITING,
                    "writing is " + held + " segments ahead of committed, but the ring has " + geometry.capacity());
        }
    }

    private CorruptException corrupt(Word word, String what) {
        return new CorruptException(path.resolve(MetaPage.FILE_NAME).toString(), word.at(), what);
    }

    private void checkConsumer(String name, ConsumerCursors cursors, long writing) {
        if (cursors.needed() == Long.MAX_VALUE) {
            return; // the consumer was deleted since the directory was read
        }
        if (cursors.committed() < 0 || cursors.dropped() < 0 || meta.clean() && cursors.needed() > writing) {
            throw new CorruptException(
                    registry.path(name).toString(),
                    ConsumerImage.Word.COMMITTED.at(),
                    "the committed position of consumer "
                            + name + " is " + cursors.committed() + ", dropped is " + cursors.dropped()
                            + " and writing is " + writing
                            + ", expected 0 or more" + (meta.clean() ? ", and neither ahead of writing" : ""));
        }
    }
}
