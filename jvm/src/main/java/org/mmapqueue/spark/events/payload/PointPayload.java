package org.mmapqueue.spark.events.payload;

import java.util.List;
import org.mmapqueue.spark.events.otlp.OtlpJson;
import org.mmapqueue.spark.events.otlp.OtlpPoints;
import org.mmapqueue.spark.events.skywalking.SkyWalkingMeters;
import org.mmapqueue.spark.events.wire.MalformedException;

/** Decodes payloads that hold data points of metrics, by their format. */
public final class PointPayload {
    private PointPayload() {}

    public static boolean decode(String format, byte[] data, long time, List<Object[]> rows) throws MalformedException {
        switch (format) {
            case "otlp.metrics" -> new OtlpPoints(rows).read(data);
            case "otlp.metrics+json" -> new OtlpPoints(rows).read(OtlpJson.METRICS.toProtobuf(data));
            case "skywalking.meters" -> new SkyWalkingMeters(rows).read(data);
            case "prometheus.writerequest" -> new RemoteWrite(rows, false).read(data);
            case "io.prometheus.write.v2.request" -> new RemoteWrite(rows, true).read(data);
            case "text/plain; version" -> new Exposition(rows, false).read(data);
            case "application/openmetrics-text" -> new Exposition(rows, true).read(data);
            default -> {
                return false;
            }
        }
        return true;
    }
}
