package org.mmapqueue.spark.read.pushdown;

import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * Which records filters let pass. Immutable.
 *
 * @param offsets their offsets
 * @param partitions their partitions
 * @param timestamps their times in µs since 1970; null when the time does not matter, and there may be none
 */
public record Selection(LongSet offsets, LongSet partitions, LongSet timestamps) {
    /** All records. */
    public static final Selection ALL = new Selection(LongSet.ALL, LongSet.ALL, null);

    /** Those of them that pass a condition, too. */
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

    /** What is not said by partitions and offsets alone. */
    public boolean isByTime() {
        return timestamps != null;
    }

    /** What is selected, for people. */
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
