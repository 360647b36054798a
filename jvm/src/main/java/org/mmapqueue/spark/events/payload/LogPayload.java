package org.mmapqueue.spark.events.payload;

import java.time.DateTimeException;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import org.mmapqueue.spark.events.otlp.OtlpJson;
import org.mmapqueue.spark.events.otlp.OtlpLogs;
import org.mmapqueue.spark.events.skywalking.SkyWalkingLogs;
import org.mmapqueue.spark.events.wire.MalformedException;

/** Decodes payloads that hold log records, by their format. */
public final class LogPayload {
    private static final String SYSLOG_ZONE = "text/x-syslog; zone=";

    private LogPayload() {}

    private static ZoneId zone(String name) throws MalformedException {
        try {
            return ZoneId.of(name);
        } catch (DateTimeException e) {
            throw new MalformedException("time zone " + name + ", which this Java does not know,", 0);
        }
    }

    public static boolean decode(String format, byte[] data, long time, List<Object[]> rows) throws MalformedException {
        switch (format) {
            case "otlp.logs" -> new OtlpLogs(rows).read(data);
            case "otlp.logs+json" -> new OtlpLogs(rows).read(OtlpJson.LOGS.toProtobuf(data));
            case "skywalking.logs" -> new SkyWalkingLogs(rows).read(data);
            case "text/plain" -> LineLogs.lines(data, rows);
            case "application/x-ndjson" -> LineLogs.documents(data, rows);
            case "text/x-syslog" -> Syslog.message(data, ZoneOffset.UTC, time, rows);
            case "application/json", "application/cloudevents+json" -> LineLogs.whole(data, rows);
            case "application/cloudevents-batch+json" -> CloudEvents.batch(data, rows);
            default -> {
                if (!format.startsWith(SYSLOG_ZONE)) {
                    return false;
                }
                Syslog.message(data, zone(format.substring(SYSLOG_ZONE.length())), time, rows);
            }
        }
        return true;
    }
}
