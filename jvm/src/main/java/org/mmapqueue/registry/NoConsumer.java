package org.mmapqueue.registry;

import java.util.function.BooleanSupplier;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;

/**
 * Stands for the consumers of a queue that has none: it needs everything from the low watermark of the last consumer
 * on, from record 0 on in a new queue. As soon as there is a consumer it needs nothing. Any number of threads.
 */
public final class NoConsumer implements ConsumerCursors {
    private final MetaPage meta;
    private final BooleanSupplier isAlone;

    /**
     * For one queue.
     *
     * @param isAlone whether the queue has no consumer
     */
    NoConsumer(MetaPage meta, BooleanSupplier isAlone) {
        this.meta = meta;
        this.isAlone = isAlone;
    }

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
        // It pops nothing.
    }

    @Override
    public long dropped() {
        return 0;
    }

    @Override
    public long droppedFirst() {
        return 0;
    }

    // Nobody is to be told of it.
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
        // Part of the meta page, which is fsynced after the consumers' cursors in any case.
    }
}
