package org.mmapqueue.spark;

import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The procedures, with parameters and result columns. */
enum Procedures {
    /** Acks all records up to and including one. */
    ACK_UP_TO(
            "acks all records up to and including one",
            List.of(
                    Parameter.TABLE,
                    Parameter.CONSUMER,
                    Parameter.of("offset", DataTypes.LongType),
                    Parameter.PARTITION),
            Columns.POSITION),
    /** Seeks a consumer. */
    SEEK(
            "seeks a consumer to 'earliest', 'latest', an offset or a time",
            List.of(Parameter.TABLE, Parameter.CONSUMER, Parameter.of("to", null), Parameter.PARTITION),
            Columns.POSITION),
    /** Deletes segment files. */
    GC(
            "deletes the segment files that hold no retained record",
            List.of(Parameter.TABLE),
            Columns.of("partition int, freed_bytes bigint")),
    /** Verifies all records. */
    VERIFY(
            "reads and verifies every retained record; one row for each damage",
            List.of(Parameter.TABLE),
            Columns.of("partition int, file string, position bigint, detail string,"
                    + " first_unreadable bigint, last_unreadable bigint")),
    /** Lists consumers and their lag. */
    CONSUMERS(
            "lists the consumers and their lag",
            List.of(Parameter.TABLE),
            Columns.of("partition int, consumer string, committed_offset bigint,"
                    + " read_offset bigint, end_offset bigint, lag_records bigint, lag_bytes bigint,"
                    + " lag_micros bigint, unacked bigint, label string")),
    /** Creates a consumer. */
    CREATE_CONSUMER(
            "creates a consumer in each partition that does not have it",
            List.of(Parameter.TABLE, Parameter.CONSUMER, new Parameter("start", null, "NULL"), Parameter.PARTITION),
            Columns.POSITION),
    /** Deletes a consumer. */
    DELETE_CONSUMER(
            "deletes a consumer; the records that it retained may be reclaimed",
            List.of(Parameter.TABLE, Parameter.CONSUMER, Parameter.PARTITION),
            Columns.of("partition int, consumer string")),
    /** Deletes the consumers of queries that cannot be restarted. */
    DROP_ORPHANED_CONSUMERS(
            "deletes the consumers of streaming queries with checkpoints that do not exist any more; with"
                    + " dry_run it only lists them",
            List.of(Parameter.TABLE, new Parameter("dry_run", DataTypes.BooleanType, "false")),
            Columns.of("partition int, consumer string, checkpoint string, dropped boolean"));

    /**
     * A parameter of a procedure.
     *
     * @param name the parameter's name
     * @param type null for a start position, which has several types
     * @param missing the default in SQL; null for a required parameter
     */
    record Parameter(String name, DataType type, String missing) {
        static final Parameter TABLE = of("table", DataTypes.StringType);
        static final Parameter CONSUMER = of("consumer", DataTypes.StringType);
        static final Parameter PARTITION = new Parameter("partition", DataTypes.IntegerType, "NULL");

        static Parameter of(String name, DataType type) {
            return new Parameter(name, type, null);
        }
    }

    private static final class Columns {
        static final StructType POSITION = of("partition int, consumer string, committed_offset bigint");

        static StructType of(String columns) {
            return StructType.fromDDL(columns);
        }
    }

    private final String description;
    private final List<Parameter> parameters;
    private final StructType columns;

    Procedures(String description, List<Parameter> parameters, StructType columns) {
        this.description = description;
        this.parameters = parameters;
        this.columns = columns;
    }

    /** The procedure's name in SQL. */
    String sqlName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The description. */
    String description() {
        return description;
    }

    /** The parameters, in order. */
    List<Parameter> parameters() {
        return parameters;
    }

    /** The result columns. */
    StructType columns() {
        return columns;
    }
}
