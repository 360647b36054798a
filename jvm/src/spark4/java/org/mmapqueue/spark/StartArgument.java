package org.mmapqueue.spark;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.mmapqueue.StartAt;
import org.mmapqueue.spark.common.Options;

/** A start position as an argument of a procedure: a word, an offset or a time. */
final class StartArgument {
    private static final String ALLOWED = "'earliest', 'latest', an offset of at least 0, a TIMESTAMP, or a time with"
            + " its zone such as '2026-01-31T12:00:00Z'";

    private StartArgument() {}

    /**
     * Chooses the parameter type for an argument.
     *
     * @param given the argument's type
     * @return bigint for numbers, timestamp for times, else string
     */
    static DataType type(DataType given) {
        if (given.equals(DataTypes.ByteType)
                || given.equals(DataTypes.ShortType)
                || given.equals(DataTypes.IntegerType)
                || given.equals(DataTypes.LongType)) {
            return DataTypes.LongType;
        }
        return given.equals(DataTypes.TimestampType) ? given : DataTypes.StringType;
    }

    /**
     * Parses an argument.
     *
     * @param name the parameter's name
     * @param row the arguments
     * @param index the argument's index
     * @param type the parameter type, from {@link #type}
     * @return the start position
     * @throws IllegalArgumentException if the argument is invalid
     */
    static StartAt of(String name, InternalRow row, int index, DataType type) {
        if (row.isNullAt(index)) {
            throw Options.bad(name, "NULL", ALLOWED);
        }
        if (type.equals(DataTypes.LongType)) {
            return offset(name, row.getLong(index));
        }
        if (type.equals(DataTypes.TimestampType)) {
            return StartAt.timestamp(Instant.EPOCH.plus(row.getLong(index), ChronoUnit.MICROS));
        }
        return of(name, row.get(index, DataTypes.StringType).toString().strip());
    }

    private static StartAt of(String name, String text) {
        switch (text.toLowerCase(Locale.ROOT)) {
            case "earliest":
                return StartAt.EARLIEST;
            case "latest":
                return StartAt.LATEST;
            default:
                break;
        }
        try {
            if (text.matches("-?[0-9]+")) {
                return offset(name, Long.parseLong(text));
            }
            return StartAt.timestamp(OffsetDateTime.parse(text).toInstant());
        } catch (NumberFormatException | DateTimeException e) {
            throw Options.bad(name, text, ALLOWED);
        }
    }

    private static StartAt offset(String name, long offset) {
        if (offset < 0) {
            throw Options.bad(name, Long.toString(offset), ALLOWED);
        }
        return StartAt.offset(offset);
    }
}
