package org.mmapqueue.bigqueue;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A persistent queue that any number of readers dequeue independently, each with a front of its own. A reader is named
 * by its fan-out id, and starts at the first item. Safe for any number of threads.
 */
public interface IFanOutQueue extends Closeable {

    /** The time of the first item, for {@link #findClosestIndex}. */
    long EARLIEST = -1;

    /** The time of the next item, for {@link #findClosestIndex}. */
    long LATEST = -2;

    /**
     * {@return whether a reader has dequeued all items}
     *
     * @param fanoutId the reader's name: 1 to 100 letters, digits, '_', '-' or '.'
     * @throws IOException if it fails
     */
    boolean isEmpty(String fanoutId) throws IOException;

    /** {@return whether the queue has no item for any reader} */
    boolean isEmpty();

    /**
     * Appends an item.
     *
     * @param data the item
     * @return the item's index
     * @throws IOException if the item cannot be stored
     */
    long enqueue(byte[] data) throws IOException;

    /**
     * Returns the item at a reader's front and moves the front.
     *
     * @param fanoutId the reader's name
     * @return the item; null if none is left
     * @throws IOException if it cannot be read
     */
    byte @Nullable [] dequeue(String fanoutId) throws IOException;

    /**
     * {@return the item at a reader's front; null if none is left}
     *
     * @param fanoutId the reader's name
     * @throws IOException if it cannot be read
     */
    byte @Nullable [] peek(String fanoutId) throws IOException;

    /**
     * {@return the length of the item at a reader's front, in bytes; -1 if no item is left}
     *
     * @param fanoutId the reader's name
     * @throws IOException if it cannot be read
     */
    int peekLength(String fanoutId) throws IOException;

    /**
     * {@return when the item at a reader's front was appended, in ms since 1970; -1 if no item is left}
     *
     * @param fanoutId the reader's name
     * @throws IOException if it cannot be read
     */
    long peekTimestamp(String fanoutId) throws IOException;

    /**
     * {@return the item at an index}
     *
     * @param index the item's index
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if no item has this index
     */
    byte[] get(long index) throws IOException;

    /**
     * {@return the length of an item, in bytes}
     *
     * @param index the item's index
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if no item has this index
     */
    int getLength(long index) throws IOException;

    /**
     * {@return when an item was appended, in ms since 1970}
     *
     * @param index the item's index
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if no item has this index
     */
    long getTimestamp(long index) throws IOException;

    /**
     * {@return the number of items that are left for a reader}
     *
     * @param fanoutId the reader's name
     * @throws IOException if it fails
     */
    long size(String fanoutId) throws IOException;

    /** {@return the number of items that can be read by index, dequeued ones included} */
    long size();

    /** Makes every item and every front stored before the call durable. */
    void flush();

    /**
     * Removes the items that were appended before a time, for all readers.
     *
     * @param timestamp the time, ms since 1970
     * @throws IOException if it fails
     */
    void removeBefore(long timestamp) throws IOException;

    /**
     * Removes the oldest items, for all readers, until the files are within a limit.
     *
     * @param sizeLimit the limit in bytes; ignored below the page size
     * @throws IOException if it fails
     */
    void limitBackFileSize(long sizeLimit) throws IOException;

    /**
     * {@return the size of the files that hold items, in bytes}
     *
     * @throws IOException if it fails
     */
    long getBackFileSize() throws IOException;

    /**
     * Finds the item that was appended closest to a time.
     *
     * @param timestamp the time, ms since 1970; {@link #EARLIEST} or {@link #LATEST}
     * @return the item's index; {@link IBigArray#NOT_FOUND} if the queue is empty
     * @throws IOException if it fails
     */
    long findClosestIndex(long timestamp) throws IOException;

    /**
     * Moves a reader's front.
     *
     * @param fanoutId the reader's name
     * @param index the index of the item to dequeue next, or the rear index
     * @throws IOException if it fails
     * @throws IndexOutOfBoundsException if no item has this index
     */
    void resetQueueFrontIndex(String fanoutId, long index) throws IOException;

    /**
     * Removes all items, for all readers, and deletes their files. The next item has index 0.
     *
     * @throws IOException if it fails
     */
    void removeAll() throws IOException;

    /** {@return the index of the first item} */
    long getFrontIndex();

    /**
     * {@return the index of the item at a reader's front; the rear index if no item is left}
     *
     * @param fanoutId the reader's name
     * @throws IOException if it fails
     */
    long getFrontIndex(String fanoutId) throws IOException;

    /** {@return the index of the next item that is appended} */
    long getRearIndex();
}
