package org.mmapqueue.swap;

import java.util.HashMap;
import java.util.Map;

/**
 * In blocks of how many bytes this process has filled the segment files that it has made. The page cache keeps to them
 * for as long as it keeps the file, whatever zeros are written over it later. Any number of threads.
 */
final class FilledFiles {
    /** By block size, in bytes; a file that was found is in none. There are a few sizes, all powers of two. */
    private final Map<Integer, SlotSet> slots = new HashMap<>();

    /** The slot's file has been made, and filled for the first time. */
    synchronized void made(int number, int blockSize) {
        slots.values().forEach(each -> each.remove(number));
        slots.computeIfAbsent(blockSize, key -> new SlotSet()).add(number);
    }

    /** Whether the slot's file is known to have been filled in other blocks. */
    synchronized boolean isOtherwise(int number, int blockSize) {
        for (Map.Entry<Integer, SlotSet> each : slots.entrySet()) {
            if (each.getKey() != blockSize && each.getValue().contains(number)) {
                return true;
            }
        }
        return false;
    }
}
