package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.mmapqueue.spark.events.envelope.EventDecoder;

/** {@code event(value)}: a record as the struct of an event. Thread-safe. */
public final class EventFunction extends RowFunction<InternalRow> {
    private static final long serialVersionUID = 1;

    /** Called by the catalog. */
    public EventFunction() {
        super("event", Schemas.struct(EventDecoder.SCHEMA), DataTypes.BinaryType);
    }

    /**
     * Decodes a record; Spark calls it.
     *
     * @param value the record
     * @return the event, with {@code error} when it cannot be decoded; null for null
     */
    public static InternalRow invoke(byte[] value) {
        return value == null ? null : EventDecoder.decode(value);
    }

    @Override
    public InternalRow produceResult(InternalRow input) {
        return invoke(input.isNullAt(0) ? null : input.getBinary(0));
    }
}
