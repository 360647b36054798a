package org.mmapqueue.lookup;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An LRU cache of sparse indexes of segments, in at most about 8 MiB. With many segments the indexes get sparser, up to
 * {@link #LEAST_ENTRIES}; then the least recently used ones are dropped. Indexes of overwritten segments are not used
 * any more, and age out. Not thread-safe.
 */
final class SegmentIndexes {
    /** The maximum number of entries in total, 16 bytes each. */
    private static final int MOST_ENTRIES = 1 << 19;
    /** An index with no more entries than this is dropped, not made sparser: 512 of them cover 32 GiB in segments of 64 MiB. */
    private static final int LEAST_ENTRIES = 1024;
    /** The memory of an index besides its entries, as a number of entries. */
    private static final int OVERHEAD = 16;

    private final Map<Long, SegmentIndex> byId = new LinkedHashMap<>(16, 0.75f, true);
    private SegmentIndex latest;
    private int latestEntries;
    private int entries;

    /** The index of a segment; null if the cache has none. */
    SegmentIndex get(long id) {
        if (latest != null && latest.id == id) {
            return latest;
        }
        SegmentIndex found = byId.get(id);
        if (found != null) {
            become(found);
        }
        return found;
    }

    /** Adds the index of a segment that has none. */
    void put(SegmentIndex index) {
        byId.put(index.id, index);
        entries += OVERHEAD + index.room();
        become(index);
    }

    // Makes an index the latest. Only the latest index grows; its growth is counted when another index becomes the
    // latest.
    private void become(SegmentIndex index) {
        if (latest != null) {
            entries += latest.room() - latestEntries;
        }
        latest = index;
        latestEntries = index.room();
        while (entries > MOST_ENTRIES && shrinkOne()) {}
        Iterator<SegmentIndex> eldest = byId.values().iterator();
        while (entries > MOST_ENTRIES) {
            entries -= OVERHEAD + eldest.next().room();
            eldest.remove();
        }
    }

    // Halves the eldest index that has more than its share of the entries; returns whether there is one.
    private boolean shrinkOne() {
        int share = Math.max(LEAST_ENTRIES, MOST_ENTRIES / byId.size() - OVERHEAD);
        for (SegmentIndex each : byId.values()) {
            if (each != latest && each.room() > share) {
                entries -= each.room();
                each.shrink();
                entries += each.room();
                return true;
            }
        }
        return false;
    }

    /** Removes the index of a segment, if the cache has one. */
    void remove(long id) {
        SegmentIndex index = byId.remove(id);
        if (index != null) {
            entries -= OVERHEAD + (index == latest ? latestEntries : index.room());
            latest = index == latest ? null : latest;
        }
    }

    /** Removes all indexes. */
    void clear() {
        byId.clear();
        latest = null;
        entries = 0;
    }

    /** The number of cached indexes. */
    int size() {
        return byId.size();
    }
}
