package org.mmapqueue.lookup;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An LRU cache of segment indexes, in at most about 8 MiB. Indexes of overwritten segments are not used any more and
 * are evicted in time. Not thread-safe.
 */
final class SegmentIndexes {
    /** The entries of 512 full indexes, 12 bytes each: they cover 32 GiB in segments of 64 MiB. */
    private static final int MOST_ENTRIES = 1 << 19;
    /** The memory of an index beside its entries, in entries. */
    private static final int OVERHEAD = 16;

    private final Map<Long, SegmentIndex> byId = new LinkedHashMap<>(16, 0.75f, true);
    private SegmentIndex latest;
    private int latestEntries;
    private int entries;

    /** The index of a segment, or null if there is none. */
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

    // Only the latest index grows; its growth is counted when another one becomes the latest.
    private void become(SegmentIndex index) {
        if (latest != null) {
            entries += latest.room() - latestEntries;
        }
        latest = index;
        latestEntries = index.room();
        Iterator<SegmentIndex> eldest = byId.values().iterator();
        while (entries > MOST_ENTRIES) {
            entries -= OVERHEAD + eldest.next().room();
            eldest.remove();
        }
    }

    /** Removes an index if it exists. */
    void remove(long id) {
        SegmentIndex index = byId.remove(id);
        if (index != null) {
            entries -= OVERHEAD + (index == latest ? latestEntries : index.room());
            latest = index == latest ? null : latest;
        }
    }

    /** Removes all. */
    void clear() {
        byId.clear();
        latest = null;
        entries = 0;
    }

    /** The number of indexes. */
    int size() {
        return byId.size();
    }
}
