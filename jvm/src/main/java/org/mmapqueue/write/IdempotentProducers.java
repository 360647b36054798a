package org.mmapqueue.write;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.Records;
import org.mmapqueue.append.Appender;
import org.mmapqueue.append.IdempotentAppend;
import org.mmapqueue.config.Names;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.registry.Producers;

/**
 * Idempotent appends, and what is stored about their producers. In version 1 every call throws ConfigException. Safe
 * for any number of threads.
 */
public final class IdempotentProducers {
    private final Path directory;
    private final MetaPage meta;
    private final Writer writer;
    private final Appender appender;
    private final Flusher flusher;
    private final Producers pages;
    private final Producers.Host host;

    /** @param pages null in version 1 */
    IdempotentProducers(
            Path directory, MetaPage meta, Writer writer, Appender appender, Flusher flusher, Producers pages) {
        this.directory = directory;
        this.meta = meta;
        this.writer = writer;
        this.appender = appender;
        this.flusher = flusher;
        this.pages = pages;
        this.host = new Producers.Host(appender::retire, flusher);
    }

    /**
     * Pushes a batch; returns -1 if the producer's batch of that sequence or a later one is stored. The digest may be
     * null.
     */
    public long push(
            String producer,
            long sequence,
            BatchDigest digest,
            Records batch,
            long timeoutNanos,
            boolean sync,
            BooleanSupplier gone)
            throws InterruptedException {
        Producers known = pages();
        Names.check("producer", producer);
        if (sequence < 0) {
            throw new IllegalArgumentException(
                    "sequence " + sequence + " of producer " + producer + ", expected 0 or more");
        }
        ProducerPage[] used = {null};
        Writer.Append append = () -> {
            long result;
            do {
                used[0] = page(known, producer);
                result = appender.append(batch, new IdempotentAppend(used[0], sequence, digest, sync));
            } while (result == Appender.RETIRED);
            return result;
        };
        long offset = writer.stored(writer.offer(append, batch.count(), timeoutNanos, gone));
        if (sync) {
            // A page that was closed since has nothing to be fsynced: the producer is parked, or was deleted.
            flusher.awaitDurable(meta.writing(), () -> used[0].isDurable(sequence) || !known.isOpen(producer, used[0]));
        }
        return offset == Appender.DONE ? -1 : offset;
    }

    private ProducerPage page(Producers known, String producer) {
        try {
            return known.page(producer, host);
        } catch (IOException e) {
            throw failed(pageOf(producer) + " could not be made, nothing was stored", e);
        }
    }

    /** The sequence of a producer's last batch; empty for none. */
    public OptionalLong lastSequence(String producer) {
        try {
            return pages().last(producer, host);
        } catch (IOException e) {
            throw failed(pageOf(producer) + " could not be read", e);
        }
    }

    /** The digest of a batch; empty if it is not retained. */
    public Optional<BatchDigest> digest(String producer, long sequence) {
        try {
            return pages().digest(producer, sequence, host);
        } catch (IOException e) {
            throw failed(pageOf(producer) + " could not be read", e);
        }
    }

    /** The producers' names, in alphabetical order. */
    public List<String> names() {
        return pages().names();
    }

    /** Deletes a producer's sequences. */
    public void forget(String producer) {
        try {
            pages().forget(producer, host);
        } catch (IOException e) {
            throw failed("producer " + producer + " of " + directory + " could not be forgotten", e);
        }
    }

    private Producers pages() {
        if (pages == null) {
            throw new ConfigException(
                    "format_version", "1", "2 for producers: version 1 has no place for what they have pushed");
        }
        return pages;
    }

    private String pageOf(String producer) {
        return "the page of producer " + producer + " in " + directory;
    }

    private static MmapQueueException failed(String what, IOException cause) {
        return new MmapQueueException(what + ": " + cause, cause);
    }
}
