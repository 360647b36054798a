package org.mmapqueue.spark.read.pushdown;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * A filter on one column, as the set of matching values. Null never matches. Immutable.
 *
 * @param column the column: offset, timestamp or partition
 * @param values the matching values; timestamps in µs since 1970
 */
public record Condition(String column, LongSet values) {
    private static final List<String> COLUMNS =
            List.of(RecordSchema.OFFSET, RecordSchema.TIMESTAMP, RecordSchema.PARTITION);

    /**
     * Converts a filter of Spark.
     *
     * @return an equivalent condition; empty if the filter is not a set of values of one column
     */
    public static Optional<Condition> of(Expression filter) {
        if (!(filter instanceof Predicate predicate)) {
            return Optional.empty();
        }
        Expression[] children = predicate.children();
        return switch (predicate.name()) {
            case "AND" -> both(children, true);
            case "OR" -> both(children, false);
            case "NOT" -> of(children[0]).map(one -> new Condition(one.column, one.values.not()));
            case "IN" -> in(children);
            case "IS_NOT_NULL" -> column(children[0]).map(name -> new Condition(name, LongSet.ALL));
            case "=", "<", "<=", ">", ">=" -> comparison(predicate.name(), children[0], children[1]);
            default -> Optional.empty();
        };
    }

    private static Optional<Condition> both(Expression[] children, boolean and) {
        Optional<Condition> one = of(children[0]);
        Optional<Condition> two = of(children[1]);
        if (one.isEmpty() || two.isEmpty() || !one.get().column.equals(two.get().column)) {
            return Optional.empty();
        }
        LongSet left = one.get().values;
        LongSet right = two.get().values;
        return Optional.of(new Condition(one.get().column, and ? left.and(right) : left.or(right)));
    }

    private static Optional<Condition> in(Expression[] children) {
        Optional<String> name = column(children[0]);
        if (name.isEmpty()) {
            return Optional.empty();
        }
        LongSet values = LongSet.NONE;
        for (int i = 1; i < children.length; i++) {
            Optional<Long> value = value(children[i]);
            if (value.isEmpty()) {
                return Optional.empty();
            }
            values = values.or(LongSet.between(value.get(), value.get()));
        }
        return Optional.of(new Condition(name.get(), values));
    }

    private static Optional<Condition> comparison(String operator, Expression left, Expression right) {
        Optional<String> name = column(left);
        if (name.isEmpty()) {
            return column(right).isEmpty() ? Optional.empty() : comparison(turned(operator), right, left);
        }
        return value(right)
                .map(value -> new Condition(
                        name.get(),
                        switch (operator) {
                            case "=" -> LongSet.between(value, value);
                            case "<" -> LongSet.below(value);
                            case "<=" -> LongSet.between(Long.MIN_VALUE, value);
                            case ">" -> LongSet.above(value);
                            default -> LongSet.between(value, Long.MAX_VALUE);
                        }));
    }

    private static String turned(String operator) {
        return switch (operator) {
            case "<" -> ">";
            case "<=" -> ">=";
            case ">" -> "<";
            case ">=" -> "<=";
            default -> operator;
        };
    }

    private static Optional<String> column(Expression expression) {
        return expression instanceof NamedReference reference && reference.fieldNames().length == 1
                ? Optional.of(reference.fieldNames()[0]).filter(COLUMNS::contains)
                : Optional.empty();
    }

    // Spark casts literals to the column's type; a cast of the column is not a reference.
    private static Optional<Long> value(Expression expression) {
        return expression instanceof Literal<?> literal
                        && (literal.value() instanceof Long || literal.value() instanceof Integer)
                ? Optional.of(((Number) literal.value()).longValue())
                : Optional.empty();
    }
}
