package org.mmapqueue.spark.events.payload;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.envelope.ContentTypes;
import org.mmapqueue.spark.events.wire.MalformedException;

/** Decodes a payload into an array of rows: all of them, or one row with an error. */
public final class Payload {
    private static final byte[] NONE = new byte[0];

    private Payload() {}

    /** Makes the rows of a payload. */
    @FunctionalInterface
    public interface Decoder {
        /**
         * Decodes a payload of one format.
         *
         * @param format as {@link ContentTypes#format} returns it
         * @return false when the format has no such rows
         */
        boolean decode(String format, byte[] data, long time, List<Object[]> rows) throws MalformedException;
    }

    /**
     * Decodes a payload.
     *
     * @param time of the event in µs, 0 for none; used for rows without a time
     * @param error of the event; if not null, it is the error of the only row
     * @param columns of a row, of which the last two are the row's number in the payload and the error
     * @param timeColumn the column that takes the event's time if it is null
     */
    public static ArrayData rows(
            UTF8String contentType,
            byte[] data,
            long time,
            UTF8String error,
            Decoder decoder,
            String kind,
            int columns,
            int timeColumn) {
        if (error != null) {
            return failed(error, columns);
        }
        List<Object[]> rows = new ArrayList<>();
        try {
            if (!decoder.decode(ContentTypes.format(contentType), data == null ? NONE : data, time, rows)) {
                return failed(UTF8String.fromString("content type " + contentType + " has no " + kind), columns);
            }
        } catch (MalformedException e) {
            return failed(UTF8String.fromString(kind + " of " + contentType + ": " + e.getMessage()), columns);
        }
        Object[] structs = new Object[rows.size()];
        for (int i = 0; i < structs.length; i++) {
            Object[] row = rows.get(i);
            if (row[timeColumn] == null && time != 0) {
                row[timeColumn] = time;
            }
            row[columns - 2] = i;
            structs[i] = new GenericInternalRow(row);
        }
        return new GenericArrayData(structs);
    }

    private static ArrayData failed(UTF8String error, int columns) {
        Object[] row = new Object[columns];
        row[columns - 2] = 0;
        row[columns - 1] = error;
        return new GenericArrayData(new Object[] {new GenericInternalRow(row)});
    }
}
