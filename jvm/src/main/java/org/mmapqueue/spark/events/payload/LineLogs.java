package org.mmapqueue.spark.events.payload;

import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.LogRow;
import org.mmapqueue.spark.events.wire.Utf8;

/** Texts as log records with only a body. */
final class LineLogs {
    private LineLogs() {}

    /** Adds one record for each line; the last line may have no line end. */
    static void lines(byte[] data, List<Object[]> rows) {
        split(data, true, rows);
    }

    /** Adds one record for each line that is not blank, such as a JSON document. */
    static void documents(byte[] data, List<Object[]> rows) {
        split(data, false, rows);
    }

    /** Adds the whole text as one record. */
    static void whole(byte[] data, List<Object[]> rows) {
        rows.add(row(Utf8.text(data, 0, data.length)));
    }

    static Object[] row(UTF8String body) {
        Object[] row = new Object[LogRow.COLUMNS];
        row[LogRow.BODY] = body;
        return row;
    }

    private static void split(byte[] data, boolean blank, List<Object[]> rows) {
        int start = 0;
        do {
            int end = start;
            while (end < data.length && data[end] != '\n') {
                end++;
            }
            int length = (end > start && data[end - 1] == '\r' ? end - 1 : end) - start;
            if (blank || !isBlank(data, start, length)) {
                rows.add(row(Utf8.text(data, start, length)));
            }
            start = end + 1;
        } while (start < data.length);
    }

    private static boolean isBlank(byte[] data, int start, int length) {
        for (int at = start; at < start + length; at++) {
            if (data[at] != ' ' && data[at] != '\t' && data[at] != '\r') {
                return false;
            }
        }
        return true;
    }
}
