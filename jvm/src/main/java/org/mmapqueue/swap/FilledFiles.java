package org.mmapqueue.swap;

/**
 * In blocks of how many bytes this process has filled the segment files that it has made. The page cache keeps to them
 * for as long as it keeps the file, whatever zeros are written over it later. Any number of threads.
 */
final class FilledFiles {
    /** By ring slot: 0 for a file that was found, else one more than the binary logarithm. */
    private final byte[] sizes;

    FilledFiles(int capacity) {
        this.sizes = new byte[capacity];
    }

    /** The slot's file has been made, and filled for the first time. */
    synchronized void made(int number, int blockSize) {
        sizes[number] = size(blockSize);
    }

    /** Whether the slot's file is known to have been filled in other blocks. */
    synchronized boolean isOtherwise(int number, int blockSize) {
        return sizes[number] != 0 && sizes[number] != size(blockSize);
    }

    private static byte size(int blockSize) {
        return (byte) (Integer.SIZE - Integer.numberOfLeadingZeros(blockSize));
    }
}
