package org.mmapqueue.spark;

import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The procedures that there are: what each takes, and the columns of what it returns. */
enum Procedures {
    /** Commits everything up to and including a record. */
    ACK(
            "commits everything up to and including a record",
            List.of(
                    Parameter.TABLE,
                    Parameter.CONSUMER,
                    Parameter.of("offset", DataTypes.LongType),
                    Parameter.PARTITION),
            Columns.POSITION),
    /** Moves a consumer, back or on. */
    SEEK(
            "moves a consumer to 'earliest', 'latest', an offset or a time",
            List.of(Parameter.TABLE, Parameter.CONSUMER, Parameter.of("to", null), Parameter.PARTITION),
            Columns.POSITION),
    /** Deletes files. */
    GC(
            "deletes the files that hold nothing which is retained",
            List.of(Parameter.TABLE),
            Columns.of("partition int, freed_bytes bigint")),
    /** Reads all records. */
    VERIFY(
            "reads and checks every record that is retained; one row for each damaged place",
            List.of(Parameter.TABLE),
            Columns.of("partition int, file string, position bigint, detail string,"
                    + " first_unreadable bigint, last_unreadable bigint")),
    /** How far consumers are behind. */
    CONSUMERS(
            "the consumers, and how far they are behind",
            List.of(Parameter.TABLE),
            Columns.of("partition int, consumer string, committed_offset bigint,"
                    + " read_offset bigint, end_offset bigint, lag_records bigint, lag_bytes bigint,"
                    + " lag_micros bigint, unacked bigint, label string")),
    /** Makes a consumer. */
    CREATE_CONSUMER(
            "makes a consumer where it is not there",
            List.of(Parameter.TABLE, Parameter.CONSUMER, new Parameter("start", null, "NULL"), Parameter.PARTITION),
            Columns.POSITION),
    /** Forgets a consumer. */
    DELETE_CONSUMER(
            "deletes a consumer, and gives the space free that it held",
            List.of(Parameter.TABLE, Parameter.CONSUMER, Parameter.PARTITION),
            Columns.of("partition int, consumer string")),
    /** Forgets the consumers of queries that can not be started again. */
    DROP_ORPHANED_CONSUMERS(
            "deletes the consumers of streaming queries whose checkpoints are gone; with dry_run it only"
                    + " lists them",
            List.of(Parameter.TABLE, new Parameter("dry_run", DataTypes.BooleanType, "false")),
            Columns.of("partition int, consumer string, checkpoint string, dropped boolean"));

    /**
     * What a procedure takes.
     *
     * @param name its name
     * @param type null for a place, which is said in several ways
     * @param missing what counts when it is not given, in SQL; null when it must be
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

    /** Its name in SQL. */
    String sqlName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** What it does. */
    String description() {
        return description;
    }

    /** What it takes, in order. */
    List<Parameter> parameters() {
        return parameters;
    }

    /** What its rows are made of. */
    StructType columns() {
        return columns;
    }
}
