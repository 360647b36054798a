package org.mmapqueue.spark.events.otlp;

import java.util.HashMap;
import java.util.Map;

/** The messages of OTLP that become rows, for its JSON: names of members, numbers and kinds of fields. */
final class OtlpSchema {
    private static final Map<String, Map<String, Field>> MESSAGES = new HashMap<>();

    static {
        define("LogsRequest", "resourceLogs 1 ResourceLogs*");
        define("ResourceLogs", "resource 1 Resource, scopeLogs 2 ScopeLogs*");
        define("ScopeLogs", "scope 1 Scope, logRecords 2 LogRecord*");
        define(
                "LogRecord",
                "timeUnixNano 1 fixed64, observedTimeUnixNano 11 fixed64, severityNumber 2 int32, severityText 3"
                        + " string, body 5 AnyValue, attributes 6 KeyValue*, traceId 9 hex, spanId 10 hex");
        define("TracesRequest", "resourceSpans 1 ResourceSpans*");
        define("ResourceSpans", "resource 1 Resource, scopeSpans 2 ScopeSpans*");
        define("ScopeSpans", "scope 1 Scope, spans 2 Span*");
        define(
                "Span",
                "traceId 1 hex, spanId 2 hex, parentSpanId 4 hex, name 5 string, kind 6 int32, startTimeUnixNano 7"
                        + " fixed64, endTimeUnixNano 8 fixed64, attributes 9 KeyValue*, events 11 Event*, links 13"
                        + " Link*, status 15 Status");
        define("Event", "timeUnixNano 1 fixed64, name 2 string, attributes 3 KeyValue*");
        define("Link", "traceId 1 hex, spanId 2 hex, traceState 3 string, attributes 4 KeyValue*");
        define("Status", "message 2 string, code 3 int32");
        define("MetricsRequest", "resourceMetrics 1 ResourceMetrics*");
        define("ResourceMetrics", "resource 1 Resource, scopeMetrics 2 ScopeMetrics*");
        define("ScopeMetrics", "scope 1 Scope, metrics 2 Metric*");
        define(
                "Metric",
                "name 1 string, description 2 string, unit 3 string, gauge 5 Gauge, sum 7 Sum,"
                        + " histogram 9 Histogram, exponentialHistogram 10 ExponentialHistogram, summary 11 Summary");
        define("Gauge", "dataPoints 1 NumberPoint*");
        define("Sum", "dataPoints 1 NumberPoint*, aggregationTemporality 2 int32, isMonotonic 3 bool");
        define("Histogram", "dataPoints 1 HistogramPoint*, aggregationTemporality 2 int32");
        define("ExponentialHistogram", "dataPoints 1 ExponentialPoint*, aggregationTemporality 2 int32");
        define("Summary", "dataPoints 1 SummaryPoint*");
        define(
                "NumberPoint",
                "startTimeUnixNano 2 fixed64, timeUnixNano 3 fixed64, asDouble 4 double,"
                        + " asInt 6 sfixed64, attributes 7 KeyValue*");
        define(
                "HistogramPoint",
                "startTimeUnixNano 2 fixed64, timeUnixNano 3 fixed64, count 4 fixed64, sum 5 double,"
                        + " bucketCounts 6 fixed64*, explicitBounds 7 double*, attributes 9 KeyValue*, min 11 double,"
                        + " max 12 double");
        define(
                "ExponentialPoint",
                "attributes 1 KeyValue*, startTimeUnixNano 2 fixed64, timeUnixNano 3 fixed64,"
                        + " count 4 fixed64, sum 5 double, scale 6 sint32, zeroCount 7 fixed64, positive 8 Buckets,"
                        + " negative 9 Buckets, min 12 double, max 13 double, zeroThreshold 14 double");
        define("Buckets", "offset 1 sint32, bucketCounts 2 uint64*");
        define(
                "SummaryPoint",
                "startTimeUnixNano 2 fixed64, timeUnixNano 3 fixed64, count 4 fixed64, sum 5 double,"
                        + " quantileValues 6 Quantile*, attributes 7 KeyValue*");
        define("Quantile", "quantile 1 double, value 2 double");
        define("Resource", "attributes 1 KeyValue*");
        define("Scope", "name 1 string");
        define("KeyValue", "key 1 string, value 2 AnyValue");
        define(
                "AnyValue",
                "stringValue 1 string, boolValue 2 bool, intValue 3 int64, doubleValue 4 double,"
                        + " arrayValue 5 Values, kvlistValue 6 Members, bytesValue 7 base64");
        define("Values", "values 1 AnyValue*");
        define("Members", "values 1 KeyValue*");
    }

    private OtlpSchema() {}

    /**
     * A field of a message.
     *
     * @param kind the type of a scalar, or the message's name
     * @param message the name of a nested message, null for a scalar
     * @param repeated whether it is a list
     */
    record Field(String name, int number, String kind, String message, boolean repeated) {}

    /** The fields of a message by the names of their members. */
    static Map<String, Field> message(String name) {
        return MESSAGES.get(name);
    }

    private static void define(String message, String fields) {
        Map<String, Field> byName = new HashMap<>();
        for (String field : fields.split(", ?")) {
            String[] parts = field.strip().split(" ");
            boolean repeated = parts[2].endsWith("*");
            String kind = repeated ? parts[2].substring(0, parts[2].length() - 1) : parts[2];
            String nested = Character.isUpperCase(kind.charAt(0)) ? kind : null;
            byName.put(parts[0], new Field(parts[0], Integer.parseInt(parts[1]), kind, nested, repeated));
        }
        MESSAGES.put(message, byName);
    }
}
