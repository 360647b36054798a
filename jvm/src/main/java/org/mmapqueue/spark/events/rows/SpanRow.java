package org.mmapqueue.spark.events.rows;

import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** The columns of a span, one schema for all sources; kinds and states are OpenTelemetry's. */
public final class SpanRow {
    public static final String SCHEMA =
            "trace_id string, span_id string, parent_span_id string, name string, kind string, "
                    + "start timestamp, end timestamp, duration_ns bigint, status string, "
                    + "status_message string, attributes string, events string, links string, resource string, "
                    + "scope string, service string, instance string, index int, error string";

    public static final int TRACE_ID = 0;
    public static final int SPAN_ID = 1;
    public static final int PARENT = 2;
    public static final int NAME = 3;
    public static final int KIND = 4;
    public static final int TIME = 5;
    public static final int END = 6;
    public static final int DURATION = 7;
    public static final int STATUS = 8;
    public static final int STATUS_MESSAGE = 9;
    public static final int ATTRIBUTES = 10;
    public static final int EVENTS = 11;
    public static final int LINKS = 12;
    public static final int RESOURCE = 13;
    public static final int SCOPE = 14;
    public static final int SERVICE = 15;
    public static final int INSTANCE = 16;
    public static final int COLUMNS = 19;

    public static final UTF8String UNSET = UTF8String.fromString("UNSET");
    static final UTF8String OK = UTF8String.fromString("OK");
    public static final UTF8String ERROR_STATUS = UTF8String.fromString("ERROR");
    public static final UTF8String INTERNAL = UTF8String.fromString("INTERNAL");
    public static final UTF8String SERVER = UTF8String.fromString("SERVER");
    public static final UTF8String CLIENT = UTF8String.fromString("CLIENT");
    public static final UTF8String PRODUCER = UTF8String.fromString("PRODUCER");
    public static final UTF8String CONSUMER = UTF8String.fromString("CONSUMER");
    private static final UTF8String[] KINDS = {
        UTF8String.fromString("UNSPECIFIED"), INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER
    };
    private static final UTF8String[] STATES = {UNSET, OK, ERROR_STATUS};

    private SpanRow() {}

    /** The name of OpenTelemetry's number of a kind, the number itself when it has none. */
    public static UTF8String kind(long number) {
        return name(KINDS, number);
    }

    /** The name of OpenTelemetry's number of a status. */
    public static UTF8String status(long number) {
        return name(STATES, number);
    }

    /** OpenTelemetry's number of a kind's name, or the number that it is; 0 for any other text and for null. */
    public static int kindNumber(UTF8String name) {
        return number(KINDS, name);
    }

    /** OpenTelemetry's number of a status' name, likewise. */
    public static int statusNumber(UTF8String name) {
        return number(STATES, name);
    }

    private static int number(UTF8String[] names, UTF8String name) {
        int known = Arrays.asList(names).indexOf(name);
        UTF8String.IntWrapper number = new UTF8String.IntWrapper();
        return known >= 0 ? known : name != null && name.toInt(number) ? number.value : 0;
    }

    private static UTF8String name(UTF8String[] names, long number) {
        return number >= 0 && number < names.length
                ? names[(int) number]
                : UTF8String.fromString(Integer.toString((int) number));
    }
}
