package org.mmapqueue.bigqueue;

import java.io.Closeable;
import java.io.IOException;

/** A persistent array that grows at its head and is cut off at its tail. Any number of threads. */
public interface IBigArray extends Closeable {

    /** Returned by {@link #findClosestIndex} for an empty array. */
    long NOT_FOUND = -1;

    /**
     * Appends an item.
     *
     * @param data the item
     * @return its index
     * @throws IOException if it cannot be stored
     */
    long append(byte[] data) throws IOException;

    /**
     * Returns an item.
     *
     * @param index its index
     * @return the item
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if there is no item of this index
     */
    byte[] get(long index) throws IOException;

    /**
     * Returns when an item was appended.
     *
     * @param index its index
     * @return the time, ms since 1970
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if there is no item of this index
     */
    long getTimestamp(long index) throws IOException;

    /** {@return the number of items} */
    long size();

    /** {@return the page size that the array was opened with, in bytes} */
    int getDataPageSize();

    /** {@return the index of the next item that is appended} */
    long getHeadIndex();

    /** {@return the index of the first item; the head index if there is none} */
    long getTailIndex();

    /** {@return whether there is no item} */
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
     * @throws IndexOutOfBoundsException if there is no item of this index
     */
    void removeBeforeIndex(long index) throws IOException;

    /**
     * Removes the items that were appended before a time.
     *
     * @param timestamp the time, ms since 1970
     * @throws IOException if it fails
     */
    void removeBefore(long timestamp) throws IOException;

    /** Returns when every item appended before is durable. */
    void flush();

    /**
     * Finds the item that was appended closest to a time.
     *
     * @param timestamp the time, ms since 1970
     * @return its index; {@link #NOT_FOUND} if there is no item
     * @throws IOException if it fails
     */
    long findClosestIndex(long timestamp) throws IOException;

    /**
     * Returns the size of the files that hold items.
     *
     * @return the size in bytes
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
     * Returns the length of an item.
     *
     * @param index its index
     * @return the length in bytes
     * @throws IOException if it cannot be read
     * @throws IndexOutOfBoundsException if there is no item of this index
     */
    int getItemLength(long index) throws IOException;
}
