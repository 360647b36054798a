package org.mmapqueue.registry;

import java.util.function.BooleanSupplier;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;

/**
 * The cursors that retain records while the queue has no consumer: all records from the low watermark of the last
 * consumer, or from record 0 in a new queue. Once a consumer exists they retain nothing. Safe for any number of
 * threads.
 *
 * @param isAlone returns whether the queue has no consumer
 */
public record NoConsumer(MetaPage meta, BooleanSupplier isAlone) implements ConsumerCursors {

    @Override
    public long committed() {
        return meta.heldFrom();
    }

    @Override
    public void committed(long position) {
        meta.heldFrom(position);
    }

    @Override
    public long reading() {
        return meta.heldFrom();
    }

    @Override
    public void reading(long position) {
        // Without a consumer nothing is popped.
    }

    // No consumer exists that would report the drop.
    @Override
    public void drop(long position, long first) {
        meta.heldFrom(Math.max(position, meta.heldFrom()));
    }

    @Override
    public boolean noteDrop(long position) {
        return true;
    }

    @Override
    public long needed() {
        return isAlone.getAsBoolean() ? meta.heldFrom() : Long.MAX_VALUE;
    }

    @Override
    public void force() {
        // These are part of the meta page, which is always fsynced after the consumers' cursors.
    }
}
