package org.mmapqueue.spark.read.pushdown;

import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * The records that match all filters. Immutable.
 *
 * @param offsets the matching offsets
 * @param partitions the matching partitions
 * @param timestamps the matching timestamps in µs since 1970; null to match all records, also those without a timestamp
 */
public record Selection(LongSet offsets, LongSet partitions, LongSet timestamps) {
    /** All records. */
    public static final Selection ALL = new Selection(LongSet.ALL, LongSet.ALL, null);

    /** The records that also match a condition. */
    public Selection and(Condition condition) {
        return switch (condition.column()) {
            case RecordSchema.OFFSET -> new Selection(offsets.and(condition.values()), partitions, timestamps);
            case RecordSchema.PARTITION -> new Selection(offsets, partitions.and(condition.values()), timestamps);
            default ->
                new Selection(
                        offsets,
                        partitions,
                        timestamps == null ? condition.values() : timestamps.and(condition.values()));
        };
    }

    /** Whether the selection has a condition on timestamps, which ranges of offsets cannot express. */
    public boolean isByTime() {
        return timestamps != null;
    }

    /** The selection, for messages. */
    @Override
    public String toString() {
        List<String> all = new ArrayList<>();
        if (!offsets.equals(LongSet.ALL)) {
            all.add(RecordSchema.OFFSET + " in " + offsets);
        }
        if (!partitions.equals(LongSet.ALL)) {
            all.add(RecordSchema.PARTITION + " in " + partitions);
        }
        if (timestamps != null) {
            all.add(RecordSchema.TIMESTAMP + " in " + timestamps);
        }
        return String.join(", ", all);
    }
}
