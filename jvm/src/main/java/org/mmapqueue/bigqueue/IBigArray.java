package org.mmapqueue.bigqueue;

import java.io.Closeable;
import java.io.IOException;

/** A persistent array that grows at its head and is truncated at its tail. Safe for any number of threads. */
public interface IBigArray extends Closeable {

    /** Returned by {@link #findClosestIndex} for an empty array. */
    long NOT_FOUND = -1;

    /**
     * Appends an item.
     *
     * @param data the item
     * @return the item's index
     * @throws IOException if the item cannot be stored
     */
    long append(byte[] data) throws IOException;

    /**
     * {@return the item at an index}
     *
     * @param index the item's index
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if no item has this index
     */
    byte[] get(long index) throws IOException;

    /**
     * {@return when an item was appended, in ms since 1970}
     *
     * @param index the item's index
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if no item has this index
     */
    long getTimestamp(long index) throws IOException;

    /** {@return the number of items} */
    long size();

    /** {@return the page size that the array was opened with, in bytes} */
    int getDataPageSize();

    /** {@return the index of the next item that is appended} */
    long getHeadIndex();

    /** {@return the index of the first item; the head index if the array is empty} */
    long getTailIndex();

    /** {@return whether the array is empty} */
    boolean isEmpty();

    /** {@return false: indexes do not run out} */
    boolean isFull();

    /**
     * Removes all items and deletes their files. The next item has index 0.
     *
     * @throws IOException if it fails
     */
    void removeAll() throws IOException;

    /**
     * Removes the items before an index.
     *
     * @param index the index of the new first item
     * @throws IOException if it fails
     * @throws IndexOutOfBoundsException if no item has this index
     */
    void removeBeforeIndex(long index) throws IOException;

    /**
     * Removes the items that were appended before a time.
     *
     * @param timestamp the time, ms since 1970
     * @throws IOException if it fails
     */
    void removeBefore(long timestamp) throws IOException;

    /** Makes every item that was appended before the call durable. */
    void flush();

    /**
     * Finds the item that was appended closest to a time.
     *
     * @param timestamp the time, ms since 1970
     * @return the item's index; {@link #NOT_FOUND} if the array is empty
     * @throws IOException if it fails
     */
    long findClosestIndex(long timestamp) throws IOException;

    /**
     * {@return the size of the files that hold items, in bytes}
     *
     * @throws IOException if it fails
     */
    long getBackFileSize() throws IOException;

    /**
     * Removes the oldest items until their files are within a limit.
     *
     * @param sizeLimit the limit in bytes; ignored below the page size
     * @throws IOException if it fails
     */
    void limitBackFileSize(long sizeLimit) throws IOException;

    /**
     * {@return the length of an item, in bytes}
     *
     * @param index the item's index
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if no item has this index
     */
    int getItemLength(long index) throws IOException;
}
