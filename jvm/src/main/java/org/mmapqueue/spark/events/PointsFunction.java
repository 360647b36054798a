package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.payload.Payload;
import org.mmapqueue.spark.events.payload.PointPayload;
import org.mmapqueue.spark.events.rows.PointRow;

/** {@code points(content_type, data, time, error)}: a payload as an array of data points. Thread-safe. */
public final class PointsFunction extends RowFunction<ArrayData> {
    private static final long serialVersionUID = 1;

    /** Called by the catalog. */
    public PointsFunction() {
        super(
                "points",
                Schemas.array(PointRow.SCHEMA),
                DataTypes.StringType,
                DataTypes.BinaryType,
                DataTypes.TimestampType,
                DataTypes.StringType);
    }

    /**
     * Decodes a payload; Spark calls it.
     *
     * @param contentType its media type
     * @param data its bytes
     * @param time of the event in µs, 0 for none
     * @param error of the event, null when it was decoded
     * @return the rows; a single one with {@code error} when the event or its payload cannot be decoded
     */
    public static ArrayData invoke(UTF8String contentType, byte[] data, long time, UTF8String error) {
        return Payload.rows(
                contentType, data, time, error, PointPayload::decode, "data points", PointRow.COLUMNS, PointRow.TIME);
    }

    @Override
    public ArrayData produceResult(InternalRow input) {
        return invoke(
                input.isNullAt(0) ? null : input.getUTF8String(0),
                input.isNullAt(1) ? null : input.getBinary(1),
                input.isNullAt(2) ? 0 : input.getLong(2),
                input.isNullAt(3) ? null : input.getUTF8String(3));
    }
}
