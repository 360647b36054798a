package org.mmapqueue.spark.events;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.mmapqueue.spark.events.skywalking.LogDataList;
import org.mmapqueue.spark.events.wire.MalformedException;

/**
 * {@code skywalking_logs(data)}: the logs of a SkyWalking stream as an array of serialized LogData, of which each stands
 * alone. Thread-safe.
 */
public final class SkyWalkingLogsFunction extends RowFunction<ArrayData> {
    private static final long serialVersionUID = 1;

    /** Called by the catalog. */
    public SkyWalkingLogsFunction() {
        super("skywalking_logs", new ArrayType(DataTypes.BinaryType, false), DataTypes.BinaryType);
    }

    /**
     * Divides a list of logs; Spark calls it.
     *
     * @param data the list, as in an event of the content type {@code proto=skywalking.logs}
     * @return the logs; null for null, and for bytes that are not such a list
     */
    public static ArrayData invoke(byte[] data) {
        if (data == null) {
            return null;
        }
        List<byte[]> logs = new ArrayList<>();
        try {
            LogDataList.read(data, logs);
        } catch (MalformedException e) {
            return null;
        }
        return new GenericArrayData(logs.toArray());
    }

    @Override
    public ArrayData produceResult(InternalRow input) {
        return invoke(input.isNullAt(0) ? null : input.getBinary(0));
    }
}
