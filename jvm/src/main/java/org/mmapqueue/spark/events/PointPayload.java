package org.mmapqueue.spark.events;

import java.util.List;

/** Which formats hold data points of metrics. */
final class PointPayload {
    private PointPayload() {}

    static boolean decode(String format, byte[] data, long time, List<Object[]> rows) throws MalformedException {
        switch (format) {
            case "otlp.metrics" -> new OtlpPoints(rows).read(data);
            case "otlp.metrics+json" -> new OtlpPoints(rows).read(OtlpJson.METRICS.toProtobuf(data));
            case "skywalking.meters" -> new SkyWalkingMeters(rows).read(data);
            default -> {
                return false;
            }
        }
        return true;
    }
}
