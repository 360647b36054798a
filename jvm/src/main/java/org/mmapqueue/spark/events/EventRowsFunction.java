package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.mmapqueue.spark.events.envelope.EventDecoder;

/**
 * {@code event_rows(value)}: a record as an array of one event, for {@code inline}. Thread-safe.
 *
 * <p>Spark pushes a filter on a column through a projection, and would decode an event once for the filter and once
 * more for the columns. It does not push filters through a generator.
 */
public final class EventRowsFunction extends RowFunction<ArrayData> {
    private static final long serialVersionUID = 1;

    /** Called by the catalog. */
    public EventRowsFunction() {
        super("event_rows", Schemas.array(EventDecoder.SCHEMA), DataTypes.BinaryType);
    }

    /**
     * Decodes a record; Spark calls it.
     *
     * @param value the record
     * @return the event, with {@code error} when it cannot be decoded; null for null
     */
    public static ArrayData invoke(byte[] value) {
        return value == null ? null : new GenericArrayData(new Object[] {EventDecoder.decode(value)});
    }

    @Override
    public ArrayData produceResult(InternalRow input) {
        return invoke(input.isNullAt(0) ? null : input.getBinary(0));
    }
}
