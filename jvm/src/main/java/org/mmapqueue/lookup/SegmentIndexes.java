package org.mmapqueue.lookup;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The indexes of the segments that were read last, in at most about 8 MiB. Those of segments that have been given to a
 * later one are not asked for any more, and go with time. Not thread-safe.
 */
final class SegmentIndexes {
    /** Of 12 bytes each. As many as 512 full indexes have: they cover 32 GiB in segments of 64 MiB. */
    private static final int MOST_PLACES = 1 << 19;
    /** What an index takes beside its places, in places. */
    private static final int OVERHEAD = 16;

    private final Map<Long, SegmentIndex> byId = new LinkedHashMap<>(16, 0.75f, true);
    private SegmentIndex latest;
    private int latestPlaces;
    private int places;

    /** The index of a segment, or null when there is none. */
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

    /** Takes up an index of a segment that has none. */
    void put(SegmentIndex index) {
        byId.put(index.id, index);
        places += OVERHEAD + index.room();
        become(index);
    }

    // Only the latest one grows: what it has grown by is seen when it is left, and places are found for it then.
    private void become(SegmentIndex index) {
        if (latest != null) {
            places += latest.room() - latestPlaces;
        }
        latest = index;
        latestPlaces = index.room();
        Iterator<SegmentIndex> eldest = byId.values().iterator();
        while (places > MOST_PLACES) {
            places -= OVERHEAD + eldest.next().room();
            eldest.remove();
        }
    }

    /** Forgets one, if there is one. */
    void remove(long id) {
        SegmentIndex index = byId.remove(id);
        if (index != null) {
            places -= OVERHEAD + (index == latest ? latestPlaces : index.room());
            latest = index == latest ? null : latest;
        }
    }

    /** Forgets all. */
    void clear() {
        byId.clear();
        latest = null;
        places = 0;
    }

    /** How many there are. */
    int size() {
        return byId.size();
    }
}
