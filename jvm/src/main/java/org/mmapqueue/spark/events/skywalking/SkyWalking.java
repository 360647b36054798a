package org.mmapqueue.spark.events.skywalking;

import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;

/** Functions for SkyWalking's messages. */
public final class SkyWalking {
    private static final UTF8String DASH = UTF8String.fromString("-");
    private static final long MOST_MILLIS = Long.MAX_VALUE / 1000;

    private SkyWalking() {}

    /** A time in ms as Spark's µs; null for 0, which is not a time, and for one that is out of range. */
    static Object micros(long millis) {
        return millis == 0 || millis > MOST_MILLIS || millis < -MOST_MILLIS ? null : millis * 1000;
    }

    /** The identity of a span: the identity of the segment, and the span's number in it. */
    static UTF8String spanId(UTF8String segment, int span) {
        return segment == null ? null : UTF8String.concat(segment, DASH, UTF8String.fromString(Integer.toString(span)));
    }

    /** The resource of a service instance as JSON, by OpenTelemetry's names. */
    static UTF8String resource(JsonBuffer out, UTF8String service, UTF8String instance, UTF8String layer) {
        member(out, "service.name", service);
        member(out, "service.instance.id", instance);
        member(out, "service.layer", layer);
        return JsonEntries.taken(out, '}');
    }

    /** Writes a member of the object, which is opened if necessary. Skips null. */
    static void member(JsonBuffer out, String key, UTF8String text) {
        if (text != null) {
            out.openOnce('{');
            out.key(key).string(text);
        }
    }

    /** Writes a member of an open object. Skips null. */
    public static void element(JsonBuffer out, String key, UTF8String text) {
        if (text != null) {
            out.key(key).string(text);
        }
    }
}
