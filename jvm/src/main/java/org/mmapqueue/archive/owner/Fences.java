package org.mmapqueue.archive.owner;

import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The offsets at which the shippers of a partition have replaced one another. A run of a shipper with a record that its
 * successor has stored, or will store, was never acked: readers leave it out. Immutable.
 */
public final class Fences {
    /** No shipper was replaced. */
    public static final Fences NONE = new Fences(new TreeMap<>());

    /**
     * The most offsets that are kept, the latest ones. A shipper that is older, and stores a run all the same, is taken
     * for one that ended at the oldest of them.
     */
    private static final int MOST = 10_000;

    /** By epoch: the offset from which on its shipper stores runs. Ascending in both. */
    private final NavigableMap<Long, Long> starts;

    private Fences(NavigableMap<Long, Long> starts) {
        this.starts = starts;
    }

    /** Parses the text of {@link #toString}; throws NumberFormatException for any other text. */
    static Fences parse(String text) {
        NavigableMap<Long, Long> starts = new TreeMap<>();
        for (String each : text.isEmpty() ? new String[0] : text.split(" ")) {
            int colon = each.indexOf(':');
            if (colon < 0) {
                throw new NumberFormatException("expected epoch:offset, found " + each);
            }
            starts.put(Long.parseLong(each.substring(0, colon)), Long.parseLong(each.substring(colon + 1)));
        }
        return new Fences(starts);
    }

    /** These, and a shipper of a higher epoch that stores runs from an offset on. */
    Fences with(long epoch, long from) {
        NavigableMap<Long, Long> all = new TreeMap<>(starts);
        while (!all.isEmpty() && all.lastEntry().getValue() >= from) {
            all.pollLastEntry(); // it has stored nothing
        }
        all.put(epoch, from);
        while (all.size() > MOST) {
            all.pollFirstEntry();
        }
        return new Fences(all);
    }

    /** The highest epoch; 0 for none. */
    public long epoch() {
        return starts.isEmpty() ? 0 : starts.lastKey();
    }

    /**
     * Whether readers leave a run or a gap out.
     *
     * @param epoch the epoch of its shipper
     * @param end the offset after its last record
     */
    public boolean hides(long epoch, long end) {
        OptionalLong successor = endOf(epoch);
        return successor.isPresent() && end > successor.getAsLong();
    }

    /** The offset from which on the successor of a shipper stores runs; empty if it has none. */
    OptionalLong endOf(long epoch) {
        Map.Entry<Long, Long> successor = starts.higherEntry(epoch);
        return successor == null ? OptionalLong.empty() : OptionalLong.of(successor.getValue());
    }

    @Override
    public String toString() {
        return starts.entrySet().stream()
                .map(each -> each.getKey() + ":" + each.getValue())
                .collect(Collectors.joining(" "));
    }
}
