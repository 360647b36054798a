package org.mmapqueue.swap;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/** A set of ring slots. Takes memory for its elements alone, however large the ring is. Not thread-safe. */
final class SlotSet {
    private static final int PAGE_BITS = 12;
    private static final int IN_PAGE = (1 << PAGE_BITS) - 1;

    /** Pages by the upper bits of a slot's number; no page is empty. */
    private final Map<Integer, BitSet> pages = new HashMap<>();

    boolean contains(int number) {
        BitSet page = pages.get(number >>> PAGE_BITS);
        return page != null && page.get(number & IN_PAGE);
    }

    void add(int number) {
        pages.computeIfAbsent(number >>> PAGE_BITS, key -> new BitSet()).set(number & IN_PAGE);
    }

    void remove(int number) {
        BitSet page = pages.get(number >>> PAGE_BITS);
        if (page != null) {
            page.clear(number & IN_PAGE);
            if (page.isEmpty()) {
                pages.remove(number >>> PAGE_BITS);
            }
        }
    }
}
