package org.mmapqueue.spark.work;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.spark.sql.Row;

/**
 * The outcomes that a handler has returned, checked against the records of its micro-batch. Records without an outcome
 * have none here. Immutable.
 *
 * @param byPartition the outcomes of each partition, by offset
 */
record Outcomes(SortedMap<Integer, SortedMap<Long, Outcome>> byPartition) {
    private static final double MOST_SECONDS = 1e9;
    private static final int PARTITION = 0;
    private static final int OFFSET = 1;
    private static final int OUTCOME = 2;
    private static final int DELAY = 3;
    private static final int REASON = 4;

    /** What becomes of a record. */
    enum Kind {
        ACK("ack"),
        NACK("nack"),
        DEAD_LETTER("dead-letter");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        static Kind of(String text, String what) {
            for (Kind each : values()) {
                if (each.text.equals(text)) {
                    return each;
                }
            }
            throw new IllegalArgumentException(
                    "outcome '" + text + "' of " + what + "; allowed: ack, nack, dead-letter");
        }
    }

    /**
     * The outcome of a record.
     *
     * @param kind the outcome
     * @param delayMicros the delay of a nack; -1 for the default
     * @param reason the reason of a dead letter; null for none
     */
    record Outcome(Kind kind, long delayMicros, String reason) {
        private String text() {
            return kind.text
                    + (delayMicros < 0 ? "" : " with a delay of " + delayMicros / 1e6 + " s")
                    + (reason == null ? "" : " with the reason '" + reason + "'");
        }
    }

    /**
     * The same outcome for each record.
     *
     * @param popped attempts by offset, for each partition
     */
    static Outcomes ofAll(Map<Integer, ? extends SortedMap<Long, Integer>> popped, String text) {
        Outcome outcome = new Outcome(Kind.of(text, "the micro-batch"), -1, null);
        SortedMap<Integer, SortedMap<Long, Outcome>> all = new TreeMap<>();
        popped.forEach((id, records) -> {
            SortedMap<Long, Outcome> own = all.computeIfAbsent(id, unused -> new TreeMap<>());
            records.keySet().forEach(offset -> own.put(offset, outcome));
        });
        return new Outcomes(all);
    }

    /**
     * The outcomes of rows.
     *
     * @param rows partition, offset, outcome, delay in seconds, reason
     * @param popped attempts by offset, for each partition
     * @param partitions the number of partitions of the queue
     * @throws IllegalArgumentException if a row is invalid, names a record that the micro-batch does not have, or
     *     contradicts another row
     */
    static Outcomes of(List<Row> rows, Map<Integer, ? extends SortedMap<Long, Integer>> popped, int partitions) {
        SortedMap<Integer, SortedMap<Long, Outcome>> all = new TreeMap<>();
        for (Row row : rows) {
            int partition = partition(row, partitions);
            if (row.isNullAt(OFFSET)) {
                throw new IllegalArgumentException("a row of outcomes has no offset: " + row);
            }
            long offset = row.getLong(OFFSET);
            String what = "record " + offset + " of partition " + partition;
            SortedMap<Long, Integer> known = popped.get(partition);
            if (known == null || !known.containsKey(offset)) {
                throw new IllegalArgumentException(
                        "an outcome for " + what + ", which is not in the micro-batch: that has " + text(popped));
            }
            if (!row.isNullAt(OUTCOME)) {
                Outcome outcome = outcome(row, what);
                Outcome other = all.computeIfAbsent(partition, unused -> new TreeMap<>())
                        .putIfAbsent(offset, outcome);
                if (other != null && !other.equals(outcome)) {
                    throw new IllegalArgumentException(
                            "two different outcomes for " + what + ": " + other.text() + ", and " + outcome.text());
                }
            }
        }
        return new Outcomes(all);
    }

    private static int partition(Row row, int partitions) {
        if (!row.isNullAt(PARTITION)) {
            return row.getInt(PARTITION);
        }
        if (partitions > 1) {
            throw new IllegalArgumentException("a row of outcomes has no partition, and the queue has " + partitions
                    + ": return the column partition as well");
        }
        return 0;
    }

    private static Outcome outcome(Row row, String what) {
        Kind kind = Kind.of(row.getString(OUTCOME), what);
        long delay = -1;
        if (kind == Kind.NACK && !row.isNullAt(DELAY)) {
            double seconds = row.getDouble(DELAY);
            if (!(seconds >= 0 && seconds <= MOST_SECONDS)) {
                throw new IllegalArgumentException(
                        "delay = " + seconds + " of " + what + "; allowed: 0 to 1000000000 seconds");
            }
            delay = (long) Math.ceil(seconds * 1e6);
        }
        return new Outcome(
                kind, delay, kind == Kind.DEAD_LETTER && !row.isNullAt(REASON) ? row.getString(REASON) : null);
    }

    private static String text(Map<Integer, ? extends SortedMap<Long, Integer>> popped) {
        StringBuilder text = new StringBuilder();
        popped.forEach((id, records) -> text.append(text.isEmpty() ? "" : ", ")
                .append(records.size())
                .append(" records of partition ")
                .append(id)
                .append(", offsets ")
                .append(records.firstKey())
                .append("..")
                .append(records.lastKey()));
        return text.toString();
    }

    boolean hasDeadLetters(int partition) {
        return byPartition.getOrDefault(partition, new TreeMap<>()).values().stream()
                .anyMatch(each -> each.kind() == Kind.DEAD_LETTER);
    }
}
