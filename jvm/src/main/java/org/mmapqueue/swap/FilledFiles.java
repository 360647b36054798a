package org.mmapqueue.swap;

import java.util.HashMap;
import java.util.Map;

/**
 * The block sizes with which this process filled the segment files that it created. The page cache keeps the folios of
 * the first fill for as long as it keeps the file, whatever is written over them. Safe for any number of threads.
 */
final class FilledFiles {
    /** Slots by block size in bytes, of which a few exist. A file that existed before this process is in no set. */
    private final Map<Integer, SlotSet> slots = new HashMap<>();

    /** Notes that the slot's file was created, and filled for the first time. */
    synchronized void made(int number, int blockSize) {
        slots.values().forEach(each -> each.remove(number));
        slots.computeIfAbsent(blockSize, key -> new SlotSet()).add(number);
    }

    /** Whether the slot's file is known to have been filled in blocks of another size. */
    synchronized boolean isOtherwise(int number, int blockSize) {
        for (Map.Entry<Integer, SlotSet> each : slots.entrySet()) {
            if (each.getKey() != blockSize && each.getValue().contains(number)) {
                return true;
            }
        }
        return false;
    }
}
