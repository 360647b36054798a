package org.mmapqueue.spark.events;

import java.util.List;

/** Which formats hold spans. */
final class SpanPayload {
    private SpanPayload() {}

    static boolean decode(String format, byte[] data, long time, List<Object[]> rows) throws MalformedException {
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
