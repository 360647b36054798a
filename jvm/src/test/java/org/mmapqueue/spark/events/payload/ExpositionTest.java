package org.mmapqueue.spark.events.payload;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.spark.events.Rows;

/** Metrics of Prometheus and OpenMetrics as data points. */
class ExpositionTest {
    private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
    private static final String OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    @Test
    void textFormat() {
        List<Map<String, Object>> rows = points(TEXT, """
            # HELP http_requests_total The total, by \\\\ code.\\nSecond line.
            # TYPE http_requests_total counter
            http_requests_total{method="post",code="200"} 1027 1395066363000
            http_requests_total{method="post",code="400",}    3 1395066363000

            # A comment
            msdos_file_access_time_seconds{path="C:\\\\DIR\\\\FILE.TXT",error="Cannot find:\\n\\"FILE\\""} 1.458255915e9
            metric_without_timestamp_and_labels 12.47
            # TYPE weird gauge
            weird{problem="division by zero"} +Inf -3982045
            """);
        assertEquals(
                Map.ofEntries(
                        Map.entry("name", "http_requests_total"),
                        Map.entry("description", "The total, by \\ code.\nSecond line."),
                        Map.entry("kind", "sum"),
                        Map.entry("temporality", "cumulative"),
                        Map.entry("monotonic", true),
                        Map.entry("time", 1_395_066_363_000_000L),
                        Map.entry("value", 1027.0),
                        Map.entry("attributes", "{\"method\":\"post\",\"code\":\"200\"}"),
                        Map.entry("index", 0)),
                rows.get(0));
        assertEquals(3.0, rows.get(1).get("value"));
        assertEquals(
                Map.of(
                        "name",
                        "msdos_file_access_time_seconds",
                        "kind",
                        "gauge",
                        "value",
                        1.458255915e9,
                        "attributes",
                        "{\"path\":\"C:\\\\DIR\\\\FILE.TXT\",\"error\":\"Cannot find:\\n\\\"FILE\\\"\"}",
                        "index",
                        2),
                rows.get(2));
        assertEquals(
                Map.of("name", "metric_without_timestamp_and_labels", "kind", "gauge", "value", 12.47, "index", 3),
                rows.get(3));
        assertEquals(
                Map.of(
                        "name",
                        "weird",
                        "kind",
                        "gauge",
                        "value",
                        Double.POSITIVE_INFINITY,
                        "time",
                        -3_982_045_000L,
                        "attributes",
                        "{\"problem\":\"division by zero\"}",
                        "index",
                        4),
                rows.get(4));
        assertEquals(5, rows.size());
    }

    @Test
    void histogramsAndSummariesAreOnePoint() {
        List<Map<String, Object>> rows = points(TEXT, """
            # TYPE d histogram
            d_bucket{h="a",le="0.05"} 24054
            d_bucket{h="a",le="0.1"} 33444
            d_bucket{h="b",le="0.1"} 1
            d_bucket{h="a",le="+Inf"} 144320
            d_bucket{h="b",le="+Inf"} 1
            d_sum{h="a"} 53423
            d_count{h="a"} 144320
            # TYPE rpc summary
            rpc{quantile="0.5"} 4773
            rpc{quantile="0.99"} NaN
            rpc_sum 1.7560473e+07
            rpc_count 2693
            """);
        assertEquals(
                List.of(
                        Map.of(
                                "name",
                                "d",
                                "kind",
                                "histogram",
                                "temporality",
                                "cumulative",
                                "count",
                                144320L,
                                "sum",
                                53423.0,
                                "buckets",
                                "{\"bounds\":[0.05,0.1],\"counts\":[24054,9390,110876]}",
                                "attributes",
                                "{\"h\":\"a\"}",
                                "index",
                                0),
                        Map.of(
                                "name",
                                "d",
                                "kind",
                                "histogram",
                                "temporality",
                                "cumulative",
                                "count",
                                1L,
                                "buckets",
                                "{\"bounds\":[0.1],\"counts\":[1,0]}",
                                "attributes",
                                "{\"h\":\"b\"}",
                                "index",
                                1),
                        Map.of(
                                "name",
                                "rpc",
                                "kind",
                                "summary",
                                "count",
                                2693L,
                                "sum",
                                1.7560473e7,
                                "buckets",
                                "{\"quantiles\":[{\"quantile\":0.5,\"value\":4773.0},"
                                        + "{\"quantile\":0.99,\"value\":\"NaN\"}]}",
                                "index",
                                2)),
                rows);
    }

    @Test
    void openMetrics() {
        List<Map<String, Object>> rows = points(OPENMETRICS, """
            # TYPE acme_http_router_request_seconds summary
            # UNIT acme_http_router_request_seconds seconds
            # HELP acme_http_router_request_seconds Latency though all of ACME's HTTP request router.
            acme_http_router_request_seconds_sum{path="/api/v1"} 9036.32
            acme_http_router_request_seconds_count{path="/api/v1"} 807283.0
            acme_http_router_request_seconds_created{path="/api/v1"} 1605281325.0
            # TYPE foo counter
            foo_total 17.0 1520879607.789 # {trace_id="KOO5S4vxi0o"} 0.67 1520879607.5
            foo_created 1520430000.123
            # TYPE state stateset
            state{state="a"} 1
            # TYPE build info
            build_info{version="1"} 1
            # EOF
            """);
        assertEquals(
                Map.of(
                        "name",
                        "acme_http_router_request_seconds",
                        "description",
                        "Latency though all of ACME's HTTP request router.",
                        "unit",
                        "seconds",
                        "kind",
                        "summary",
                        "count",
                        807283L,
                        "sum",
                        9036.32,
                        "start",
                        1_605_281_325_000_000L,
                        "attributes",
                        "{\"path\":\"/api/v1\"}",
                        "index",
                        0),
                rows.get(0));
        assertEquals(
                Map.of(
                        "name",
                        "foo_total",
                        "kind",
                        "sum",
                        "temporality",
                        "cumulative",
                        "monotonic",
                        true,
                        "time",
                        1_520_879_607_789_000L,
                        "start",
                        1_520_430_000_123_000L,
                        "value",
                        17.0,
                        "index",
                        1),
                rows.get(1));
        assertEquals(
                List.of("state", "build_info"),
                rows.subList(2, rows.size()).stream()
                        .map(each -> each.get("name"))
                        .toList());
    }

    @Test
    void aFamilyThatComesAgainHasFurtherPoints() {
        List<Map<String, Object>> rows = points(OPENMETRICS, """
            # TYPE a gauge
            a 1
            # TYPE h histogram
            h_bucket{le="+Inf"} 1
            h_count 1
            # TYPE a gauge
            a 2
            # TYPE h histogram
            h_bucket{le="+Inf"} 5
            h_count 5
            # EOF\
            """);
        assertEquals(
                List.of("a", "h", "a", "h"),
                rows.stream().map(each -> each.get("name")).toList());
        assertEquals(
                List.of(1L, 5L), List.of(rows.get(1).get("count"), rows.get(3).get("count")));
    }

    @Test
    void nothingIsLeftOut() {
        // A made time without its counter, a histogram's name as a sample, a label twice, a family without samples.
        List<Map<String, Object>> rows = points(TEXT, """
            # TYPE c counter
            c_created 5
            # TYPE h histogram
            h 7
            h_sum 8
            x{l="1",l="2"} 9
            # TYPE empty gauge
            """);
        assertEquals(
                List.of("h", "h", "x", "c_created"),
                rows.stream().map(each -> each.get("name")).toList());
        assertEquals("{\"l\":[\"1\",\"2\"]}", rows.get(2).get("attributes"));
        assertEquals(8.0, rows.get(1).get("sum"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a",
                "a b",
                "a{",
                "a{b} 1",
                "a{b=\"c\"",
                "a{b=\"c\\",
                "a{b=\"c\" d=\"e\"} 1",
                "a 1 2 3",
                "a 1d",
                "a 0x1",
                "1a 1",
                "a 1 # {} 1",
                "<html>"
            })
    void aLineThatIsNoSampleIsAnError(String line) {
        List<Map<String, Object>> rows = points(TEXT, "b 1\n" + line + "\nc 1\n");
        assertEquals(1, rows.size());
        assertTrue(rows.get(0).get("error").toString().contains("line 2 is not a sample"), rows.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"a 1\n", "a 1\n\n# EOF\n", "# EOF\na 1\n", "a 1 # {\n# EOF", "a 1 #{} 1\n# EOF"})
    void otherOpenMetricsIsAnError(String text) {
        List<Map<String, Object>> rows = points(OPENMETRICS, text);
        assertEquals(1, rows.size());
        assertTrue(rows.get(0).containsKey("error"), rows.toString());
    }

    private static List<Map<String, Object>> points(String type, String text) {
        return Rows.points(type, text.getBytes(UTF_8));
    }
}
