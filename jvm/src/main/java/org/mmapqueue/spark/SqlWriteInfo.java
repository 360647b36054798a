package org.mmapqueue.spark;

import java.util.Optional;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * Renames the only column of an SQL insert to value. SQL matches columns by position: {@code INSERT INTO t VALUES
 * ('a')} has a column {@code col1}. A DataFrame's columns are matched by name.
 */
final class SqlWriteInfo implements LogicalWriteInfo {
    private final LogicalWriteInfo info;
    private final StructType schema;

    private SqlWriteInfo(LogicalWriteInfo info, StructType schema) {
        this.info = info;
        this.schema = schema;
    }

    /**
     * Adapts the columns of an SQL insert.
     *
     * @param info as Spark passes it
     * @return the same, unless SQL inserts a single string or binary column by position
     */
    static LogicalWriteInfo of(LogicalWriteInfo info) {
        StructType schema = info.schema();
        if (schema.length() != 1 || !RunningCommand.writesByPosition()) {
            return info;
        }
        DataType type = schema.fields()[0].dataType();
        if (!type.equals(DataTypes.StringType) && !type.equals(DataTypes.BinaryType)) {
            return info;
        }
        return new SqlWriteInfo(info, new StructType().add(RecordSchema.VALUE, type, schema.fields()[0].nullable()));
    }

    @Override
    public CaseInsensitiveStringMap options() {
        return info.options();
    }

    @Override
    public String queryId() {
        return info.queryId();
    }

    @Override
    public StructType schema() {
        return schema;
    }

    @Override
    public Optional<StructType> rowIdSchema() {
        return info.rowIdSchema();
    }

    @Override
    public Optional<StructType> metadataSchema() {
        return info.metadataSchema();
    }
}
