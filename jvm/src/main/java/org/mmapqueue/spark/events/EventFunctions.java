package org.mmapqueue.spark.events;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The functions that decode and encode events, as a catalog of Spark:
 *
 * <pre>
 * spark.sql.catalog.mmapqueue_events = org.mmapqueue.spark.events.EventFunctions
 * SELECT mmapqueue_events.event(value).* FROM …
 * </pre>
 *
 * <p>It can be configured in a running session. There are no namespaces and no options. Thread-safe.
 */
public final class EventFunctions implements FunctionCatalog {
    private static final Map<String, Supplier<RowFunction<?>>> FUNCTIONS = new TreeMap<>();

    static {
        FUNCTIONS.put("event", EventFunction::new);
        FUNCTIONS.put("event_rows", EventRowsFunction::new);
        FUNCTIONS.put("record", RecordFunction::new);
        FUNCTIONS.put("otlp_log", OtlpLogFunction::new);
        FUNCTIONS.put("otlp_span", OtlpSpanFunction::new);
        FUNCTIONS.put("otlp_point", OtlpPointFunction::new);
        FUNCTIONS.put("changed_attributes", AttributesFunction::new);
        FUNCTIONS.put("skywalking_logs", SkyWalkingLogsFunction::new);
        FUNCTIONS.put("logs", LogsFunction::new);
        FUNCTIONS.put("spans", SpansFunction::new);
        FUNCTIONS.put("points", PointsFunction::new);
    }

    private String name;

    /** Called by Spark, by reflection; {@link #initialize} follows. */
    public EventFunctions() {}

    @Override
    public void initialize(String catalog, CaseInsensitiveStringMap options) {
        if (!options.isEmpty()) {
            throw new IllegalArgumentException(
                    "catalog " + catalog + " has options " + options.keySet() + "; allowed: none");
        }
        name = catalog;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) throws NoSuchNamespaceException {
        if (namespace.length > 0) {
            throw new NoSuchNamespaceException(namespace);
        }
        return FUNCTIONS.keySet().stream()
                .map(each -> Identifier.of(namespace, each))
                .toArray(Identifier[]::new);
    }

    @Override
    public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
        Supplier<RowFunction<?>> function = FUNCTIONS.get(identifier.name());
        if (identifier.namespace().length > 0 || function == null) {
            throw new NoSuchFunctionException(identifier);
        }
        return new Unbound(function.get());
    }

    /** A function before Spark has bound its arguments. */
    private record Unbound(RowFunction<?> function) implements UnboundFunction {
        @Override
        public BoundFunction bind(StructType given) {
            DataType[] wanted = function.inputTypes();
            if (given.size() != wanted.length) {
                throw new UnsupportedOperationException(
                        name() + " has " + given.size() + " arguments; allowed: " + types(wanted));
            }
            DataType[] found =
                    Arrays.stream(given.fields()).map(StructField::dataType).toArray(DataType[]::new);
            if (!Arrays.equals(found, wanted)) {
                throw new UnsupportedOperationException(
                        name() + " has arguments of types " + types(found) + "; allowed: " + types(wanted));
            }
            return function;
        }

        @Override
        public String description() {
            return name() + types(function.inputTypes()) + ": "
                    + function.resultType().catalogString();
        }

        @Override
        public String name() {
            return function.name();
        }

        private static String types(DataType[] types) {
            return Arrays.stream(types).map(DataType::simpleString).collect(Collectors.joining(", ", "(", ")"));
        }
    }
}
