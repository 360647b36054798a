package org.mmapqueue.bigqueue;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A persistent queue of byte arrays. Safe for any number of threads. */
public interface IBigQueue extends Closeable {

    /** {@return whether no item is left to dequeue} */
    boolean isEmpty();

    /**
     * Appends an item, and completes a pending future of {@link #dequeueAsync} and {@link #peekAsync}.
     *
     * @param data the item
     * @throws IOException if the item cannot be stored
     */
    void enqueue(byte[] data) throws IOException;

    /**
     * Removes the first item.
     *
     * @return the item; null if the queue is empty
     * @throws IOException if it cannot be read
     */
    byte @Nullable [] dequeue() throws IOException;

    /**
     * Removes the first item as soon as one exists. While no item exists, each call returns the same future.
     *
     * @return a future of the item, completed by the thread that enqueues it, without a lock; cancelled by {@link #close}
     */
    CompletableFuture<byte[]> dequeueAsync();

    /**
     * Removes all items and deletes their files.
     *
     * @throws IOException if it fails
     */
    void removeAll() throws IOException;

    /**
     * {@return the first item, which is not removed; null if the queue is empty}
     *
     * @throws IOException if it cannot be read
     */
    byte @Nullable [] peek() throws IOException;

    /** {@return a future of the first item, which is not removed; otherwise as {@link #dequeueAsync}} */
    CompletableFuture<byte[]> peekAsync();

    /**
     * Calls an iterator with each item, from the first to the last one at the time of the call, without removing them.
     * No lock is held: items may be enqueued and dequeued during the call.
     *
     * @param iterator called with each item, in order
     * @throws IOException if an item cannot be read, or the iterator throws it
     */
    void applyForEach(ItemIterator iterator) throws IOException;

    /**
     * Deletes the files of removed items.
     *
     * @throws IOException if it fails
     */
    void gc() throws IOException;

    /** Makes every enqueue and dequeue before the call durable. */
    void flush();

    /** {@return the number of items} */
    long size();

    /** Called with the items of a queue. */
    @FunctionalInterface
    interface ItemIterator {
        /**
         * Called with one item.
         *
         * @param item the item
         * @throws IOException to end the iteration
         */
        void forEach(byte[] item) throws IOException;
    }
}
