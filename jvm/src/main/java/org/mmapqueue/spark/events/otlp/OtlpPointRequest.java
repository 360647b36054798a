package org.mmapqueue.spark.events.otlp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigInteger;
import java.util.Objects;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.wire.WireWriter;

/**
 * Writes an ExportMetricsServiceRequest with one metric of one data point, the inverse of {@link OtlpPoints}. Requests
 * can be merged by concatenation.
 */
public final class OtlpPointRequest {
    private static final ObjectMapper JSON = new ObjectMapper(OtlpJson.PARSERS);
    /** Messages around an attribute of a data point: request, resource, scope, metric, data, point. */
    private static final int OUTER = 6;

    private static final int NO_RECORDED_VALUE = 1;

    /** The field numbers of a kind of metric, and of its data points. */
    private enum Kind {
        GAUGE(5, 7, 8),
        SUM(7, 7, 8),
        HISTOGRAM(9, 9, 10),
        EXPONENTIAL(10, 1, 10),
        SUMMARY(11, 7, 8);

        private final int field;
        private final int attributes;
        private final int flags;

        Kind(int field, int attributes, int flags) {
            this.field = field;
            this.attributes = attributes;
            this.flags = flags;
        }

        private static Kind of(UTF8String name) {
            if (PointRow.SUM_KIND.equals(name)) {
                return SUM;
            } else if (PointRow.HISTOGRAM.equals(name)) {
                return HISTOGRAM;
            } else if (PointRow.EXPONENTIAL.equals(name)) {
                return EXPONENTIAL;
            }
            return PointRow.SUMMARY.equals(name) ? SUMMARY : GAUGE;
        }

        private boolean isNumber() {
            return this == GAUGE || this == SUM;
        }
    }

    /**
     * What a data point says; null for what it does not.
     *
     * @param timeMicros µs since 1970, 0 for none
     * @param startMicros the same
     * @param value of a gauge or sum
     * @param count of a distribution
     * @param sum of a distribution
     * @param buckets the JSON of {@link OtlpPoints}; another text becomes the attribute buckets
     * @param attributes a JSON object; another text becomes the attribute attributes
     */
    public record Point(
            long timeMicros,
            long startMicros,
            @Nullable Double value,
            @Nullable Long count,
            @Nullable Double sum,
            @Nullable UTF8String buckets,
            @Nullable UTF8String attributes) {}

    /**
     * The metric of a data point; null for what it does not say.
     *
     * @param kind one of the kinds of {@link PointRow}; any other one is a gauge
     * @param temporality delta or cumulative; any other one is unspecified
     */
    public record Metric(
            @Nullable UTF8String name,
            @Nullable UTF8String description,
            @Nullable UTF8String unit,
            @Nullable UTF8String kind,
            @Nullable UTF8String temporality,
            boolean monotonic) {}

    private final OtlpRecordWriter record;
    private final WireWriter out;
    private final Kind kind;

    private OtlpPointRequest(OtlpRecordWriter record, Kind kind) {
        this.record = record;
        this.out = record.out;
        this.kind = kind;
    }

    /**
     * Encodes a data point.
     *
     * @param service the attribute service.name of a resource that has none
     * @param instance the attribute service.instance.id of a resource that has none
     */
    public static byte[] encode(
            Metric metric,
            Point point,
            UTF8String resource,
            UTF8String service,
            UTF8String instance,
            UTF8String scope) {
        Kind kind = Kind.of(metric.kind());
        OtlpRecordWriter record = new OtlpRecordWriter(resource, service, instance, scope, kind.attributes, OUTER);
        record.text(1, metric.name());
        record.text(2, metric.description());
        record.text(3, metric.unit());
        OtlpPointRequest request = new OtlpPointRequest(record, kind);
        int data = record.out.begin(kind.field);
        int nested = record.out.begin(1);
        request.point(point);
        record.out.end(nested);
        if (kind != Kind.GAUGE && kind != Kind.SUMMARY) {
            int temporality = OtlpPoints.temporality(metric.temporality());
            if (temporality != 0) {
                record.out.varint(2, temporality);
            }
        }
        if (kind == Kind.SUM && metric.monotonic()) {
            record.out.varint(3, 1);
        }
        record.out.end(data);
        return record.toBytes();
    }

    private void point(Point point) {
        record.time(2, point.startMicros());
        record.time(3, point.timeMicros());
        record.attributes(point.attributes());
        if (kind.isNumber()) {
            number(4, point.value());
        } else {
            if (point.count() != null) {
                out.fixed64(4, point.count());
            }
            number(5, point.sum());
        }
        if (point.buckets() != null && !distribution(point.buckets())) {
            record.addition("buckets", point.buckets());
        }
        boolean isEmpty = kind.isNumber() ? point.value() == null : point.count() == null && point.buckets() == null;
        if (isEmpty) {
            out.varint(kind.flags, NO_RECORDED_VALUE);
        }
    }

    // Whether the text is a distribution of this kind. Nothing is written otherwise.
    private boolean distribution(UTF8String buckets) {
        int start = out.size();
        try {
            JsonNode node = JSON.readTree(buckets.getBytes());
            switch (kind) {
                case HISTOGRAM -> histogram(node);
                case EXPONENTIAL -> exponential(node);
                case SUMMARY -> summary(node);
                default -> throw new IllegalArgumentException("no distribution");
            }
            return true;
        } catch (IOException | IllegalArgumentException e) {
            out.truncate(start);
            return false;
        }
    }

    private void histogram(JsonNode node) {
        list(node, "counts").forEach(each -> out.fixed64(6, count(each)));
        list(node, "bounds").forEach(each -> number(7, value(each)));
        number(11, optional(node, "min"));
        number(12, optional(node, "max"));
    }

    private void exponential(JsonNode node) {
        out.varint(6, zigzag(whole(node, "scale")));
        if (node.has("zero_count")) {
            out.fixed64(7, count(node.get("zero_count")));
        }
        side(8, node.get("positive"));
        side(9, node.get("negative"));
        number(12, optional(node, "min"));
        number(13, optional(node, "max"));
        number(14, optional(node, "zero_threshold"));
    }

    private void side(int field, @Nullable JsonNode node) {
        if (node == null) {
            return;
        }
        int nested = out.begin(field);
        out.varint(1, zigzag(whole(node, "offset")));
        list(node, "counts").forEach(each -> out.varint(2, count(each)));
        out.end(nested);
    }

    private void summary(JsonNode node) {
        for (JsonNode each : list(node, "quantiles")) {
            int nested = out.begin(6);
            number(1, value(each.get("quantile")));
            number(2, value(each.get("value")));
            out.end(nested);
        }
    }

    private void number(int field, @Nullable Double value) {
        if (value != null) {
            out.fixed64(field, Double.doubleToRawLongBits(value));
        }
    }

    private static JsonNode list(JsonNode node, String name) {
        JsonNode found = node.get(name);
        if (found == null || !found.isArray()) {
            throw new IllegalArgumentException("no list " + name);
        }
        return found;
    }

    private static @Nullable Double optional(JsonNode node, String name) {
        return node.has(name) ? value(node.get(name)) : null;
    }

    // A number, or the text of one that JSON has not: NaN and the infinities.
    private static double value(@Nullable JsonNode node) {
        if (node != null && node.isNumber()) {
            return node.doubleValue();
        }
        String text = Objects.requireNonNullElse(node == null ? null : node.textValue(), "");
        return switch (text) {
            case "NaN" -> Double.NaN;
            case "Infinity" -> Double.POSITIVE_INFINITY;
            case "-Infinity" -> Double.NEGATIVE_INFINITY;
            default -> throw new IllegalArgumentException("no number: " + node);
        };
    }

    // Prometheus' counts may be fractions, and differences of them negative: OpenTelemetry's are neither.
    private static long count(JsonNode node) {
        BigInteger whole =
                node.isIntegralNumber() ? node.bigIntegerValue() : BigInteger.valueOf(Math.round(value(node)));
        return whole.max(BigInteger.ZERO).longValue();
    }

    private static long whole(JsonNode node, String name) {
        return node.has(name) ? (long) value(node.get(name)) : 0;
    }

    private static long zigzag(long value) {
        return value << 1 ^ value >> 63;
    }
}
