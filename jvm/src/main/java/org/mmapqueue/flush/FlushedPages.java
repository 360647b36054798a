package org.mmapqueue.flush;

import java.util.List;
import java.util.function.Supplier;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.ProducerPage;

/**
 * The pages that a flush fsyncs.
 *
 * @param consumers returns the cursors of all consumers that exist at the call, and of what is retained without a
 *     consumer
 * @param producers returns the pages of all producers that exist at the call, without the parked ones
 */
public record FlushedPages(
        MetaPage meta, Supplier<List<? extends ConsumerCursors>> consumers, Supplier<List<ProducerPage>> producers) {}
