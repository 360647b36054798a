package org.mmapqueue.spark.events.payload;

import java.util.List;
import org.mmapqueue.spark.events.otlp.OtlpJson;
import org.mmapqueue.spark.events.otlp.OtlpSpans;
import org.mmapqueue.spark.events.skywalking.SkyWalkingSpans;
import org.mmapqueue.spark.events.wire.MalformedException;

/** Decodes payloads that hold spans, by their format. */
public final class SpanPayload {
    private SpanPayload() {}

    public static boolean decode(String format, byte[] data, long time, List<Object[]> rows) throws MalformedException {
        switch (format) {
            case "otlp.traces" -> new OtlpSpans(rows).read(data);
            case "otlp.traces+json" -> new OtlpSpans(rows).read(OtlpJson.TRACES.toProtobuf(data));
            case "skywalking.segment" -> new SkyWalkingSpans(rows).read(data);
            default -> {
                return false;
            }
        }
        return true;
    }
}
