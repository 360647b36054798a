package org.mmapqueue.spark.events.envelope;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.unsafe.types.UTF8String;

/** The media types of payloads that have a decoder. */
public final class ContentTypes {
    public static final UTF8String SKYWALKING_SEGMENT = protobuf("skywalking.segment");
    public static final UTF8String SKYWALKING_LOGS = protobuf("skywalking.logs");

    /** The maximum number of cached types: clients may send any number of different ones. */
    private static final int MOST_KEPT = 256;

    private static final Map<UTF8String, String> FORMATS = new ConcurrentHashMap<>();

    private ContentTypes() {}

    /** The content type of a member of SniffData's oneof that has no decoder. */
    static UTF8String sniffData(int field) {
        return protobuf("skywalking.sniffdata." + field);
    }

    private static UTF8String protobuf(String proto) {
        return UTF8String.fromString("application/x-protobuf; proto=" + proto);
    }

    /**
     * The format of a payload: "otlp.logs", "otlp.logs+json" and the like for those that name one by the parameter
     * `proto`, "text/plain; version" for metrics of Prometheus, "text/x-syslog; zone=…" for syslog with a time zone,
     * else the media type in lower case without its parameters. Empty when there is none.
     */
    public static String format(UTF8String contentType) {
        if (contentType == null) {
            return "";
        }
        String known = FORMATS.get(contentType);
        if (known != null) {
            return known;
        }
        String format = parse(contentType.toString());
        if (FORMATS.size() < MOST_KEPT) {
            // A copy, as the text refers to its record.
            FORMATS.put(contentType.copy(), format);
        }
        return format;
    }

    private static String parse(String contentType) {
        String[] parts = contentType.split(";");
        String media = parts.length == 0 ? "" : parts[0].strip().toLowerCase(Locale.ROOT);
        for (int i = 1; i < parts.length; i++) {
            String parameter = parts[i].strip().toLowerCase(Locale.ROOT);
            if (parameter.startsWith("proto=")) {
                String proto = parameter.substring("proto=".length()).strip();
                return media.equals("application/json") ? proto + "+json" : proto;
            }
            if (media.equals("text/plain") && parameter.startsWith("version=")) {
                return media + "; version";
            }
            if (media.equals("text/x-syslog") && parameter.startsWith("zone=")) {
                // Names of zones have capitals.
                return media + "; " + parts[i].strip();
            }
        }
        return media;
    }
}
