package org.mmapqueue.spark.read.task;

import java.util.Arrays;
import java.util.UUID;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column of a batch. Access by another type throws UnsupportedOperationException. */
abstract class RecordColumn extends ColumnVector {
    private RecordColumn(DataType type) {
        super(type);
    }

    /** Payloads; each array is a copy by the reader, passed to Spark without copying. */
    static final class Values extends RecordColumn {
        private final byte[][] values;

        Values(byte[][] values) {
            super(DataTypes.BinaryType);
            this.values = values;
        }

        @Override
        public byte[] getBinary(int row) {
            return values[row];
        }

        // Releases large payloads before the reader is released.
        @Override
        public void close() {
            Arrays.fill(values, null);
        }
    }

    /** Offsets. */
    static final class Offsets extends RecordColumn {
        private final long[] offsets;

        Offsets(long[] offsets) {
            super(DataTypes.LongType);
            this.offsets = offsets;
        }

        @Override
        public long getLong(int row) {
            return offsets[row];
        }
    }

    /** Timestamps; 0 means none. */
    static final class Timestamps extends RecordColumn {
        private final long[] micros;
        private int rows;

        Timestamps(long[] micros) {
            super(DataTypes.TimestampType);
            this.micros = micros;
        }

        /** Sets the number of rows; called for each batch. */
        void rows(int count) {
            rows = count;
        }

        @Override
        public long getLong(int row) {
            return micros[row];
        }

        @Override
        public boolean isNullAt(int row) {
            return micros[row] == 0;
        }

        @Override
        public boolean hasNull() {
            return numNulls() > 0;
        }

        @Override
        public int numNulls() {
            int nulls = 0;
            for (int i = 0; i < rows; i++) {
                nulls += micros[i] == 0 ? 1 : 0;
            }
            return nulls;
        }
    }

    /** The partition, equal in all rows. */
    static final class Partition extends RecordColumn {
        private final int partition;

        Partition(int partition) {
            super(DataTypes.IntegerType);
            this.partition = partition;
        }

        @Override
        public int getInt(int row) {
            return partition;
        }
    }

    /** Numbers of deliveries. */
    static final class Attempts extends RecordColumn {
        private final int[] attempts;

        Attempts(int[] attempts) {
            super(DataTypes.IntegerType);
            this.attempts = attempts;
        }

        @Override
        public int getInt(int row) {
            return attempts[row];
        }
    }

    /** The queue's id, equal in all rows. */
    static final class QueueId extends RecordColumn {
        private final UTF8String id;

        QueueId(UUID id) {
            super(DataTypes.StringType);
            this.id = UTF8String.fromString(id.toString());
        }

        @Override
        public UTF8String getUTF8String(int row) {
            return id;
        }
    }

    @Override
    public void close() {
        // on the heap only
    }

    @Override
    public boolean hasNull() {
        return false;
    }

    @Override
    public int numNulls() {
        return 0;
    }

    @Override
    public boolean isNullAt(int row) {
        return false;
    }

    private UnsupportedOperationException refuse(String what) {
        return new UnsupportedOperationException("a column of type " + dataType() + " has no " + what);
    }

    @Override
    public boolean getBoolean(int row) {
        throw refuse("boolean");
    }

    @Override
    public byte getByte(int row) {
        throw refuse("byte");
    }

    @Override
    public short getShort(int row) {
        throw refuse("short");
    }

    @Override
    public int getInt(int row) {
        throw refuse("int");
    }

    @Override
    public long getLong(int row) {
        throw refuse("long");
    }

    @Override
    public float getFloat(int row) {
        throw refuse("float");
    }

    @Override
    public double getDouble(int row) {
        throw refuse("double");
    }

    @Override
    public ColumnarArray getArray(int row) {
        throw refuse("array");
    }

    @Override
    public ColumnarMap getMap(int row) {
        throw refuse("map");
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
        throw refuse("decimal");
    }

    @Override
    public UTF8String getUTF8String(int row) {
        throw refuse("string");
    }

    @Override
    public byte[] getBinary(int row) {
        throw refuse("binary");
    }

    @Override
    public ColumnVector getChild(int ordinal) {
        throw refuse("child");
    }
}
