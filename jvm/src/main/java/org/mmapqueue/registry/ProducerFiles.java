package org.mmapqueue.registry;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.mmapqueue.ProducerStats;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.ProducerPage;

/** Reads the pages of idempotent producers while another process may be writing them. Changes nothing. */
final class ProducerFiles {
    /** A page counts as damaged if this many reads find a slot with a wrong checksum. */
    private static final int TRIES = 20;

    private ProducerFiles() {}

    /**
     * The last batch of each producer, in alphabetical order of their names.
     *
     * @param queue the fixed facts of the queue
     * @param nextOffset the offset of the next record: later batches are not in the log
     * @throws CorruptException when a page is damaged
     */
    static List<ProducerStats> read(Storage storage, Path queueDirectory, MetaFields queue, LongSupplier nextOffset)
            throws IOException {
        List<ProducerStats> found = new ArrayList<>();
        Map<String, Path> files = storage.list(queueDirectory.resolve(ProducerPage.DIRECTORY), ProducerPage.SUFFIX);
        for (Map.Entry<String, Path> each : files.entrySet()) {
            try {
                ProducerPage.LastBatch last = lastBatch(storage, each.getValue(), queue, nextOffset);
                Instant createdAt = Instant.EPOCH.plus(last.createdAtMicros(), ChronoUnit.MICROS);
                found.add(new ProducerStats(each.getKey(), last.sequence(), last.end(), createdAt));
            } catch (NoSuchFileException e) {
                // The producer was deleted since.
            }
        }
        return found;
    }

    // Retries: a slot is stored in several steps.
    private static ProducerPage.LastBatch lastBatch(
            Storage storage, Path file, MetaFields queue, LongSupplier nextOffset) throws IOException {
        for (int tries = 1; ; tries++) {
            try {
                return ProducerPage.lastBatch(storage, file, queue, nextOffset);
            } catch (CorruptException e) {
                if (tries == TRIES) {
                    throw e;
                }
                Thread.onSpinWait();
            }
        }
    }
}
