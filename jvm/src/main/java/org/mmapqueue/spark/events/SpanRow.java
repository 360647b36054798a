package org.mmapqueue.spark.events;

import org.apache.spark.unsafe.types.UTF8String;

/** The columns of a span, one schema for all sources; kinds and states are OpenTelemetry's. */
final class SpanRow {
    static final String SCHEMA = "trace_id string, span_id string, parent_span_id string, name string, kind string, "
            + "start timestamp, end timestamp, duration_ns bigint, status string, "
            + "status_message string, attributes string, events string, links string, resource string, "
            + "scope string, service string, instance string, index int, error string";

    static final int TRACE_ID = 0;
    static final int SPAN_ID = 1;
    static final int PARENT = 2;
    static final int NAME = 3;
    static final int KIND = 4;
    static final int TIME = 5;
    static final int END = 6;
    static final int DURATION = 7;
    static final int STATUS = 8;
    static final int STATUS_MESSAGE = 9;
    static final int ATTRIBUTES = 10;
    static final int EVENTS = 11;
    static final int LINKS = 12;
    static final int RESOURCE = 13;
    static final int SCOPE = 14;
    static final int SERVICE = 15;
    static final int INSTANCE = 16;
    static final int COLUMNS = 19;

    static final UTF8String UNSET = UTF8String.fromString("UNSET");
    static final UTF8String OK = UTF8String.fromString("OK");
    static final UTF8String ERROR_STATUS = UTF8String.fromString("ERROR");
    static final UTF8String INTERNAL = UTF8String.fromString("INTERNAL");
    static final UTF8String SERVER = UTF8String.fromString("SERVER");
    static final UTF8String CLIENT = UTF8String.fromString("CLIENT");
    static final UTF8String PRODUCER = UTF8String.fromString("PRODUCER");
    static final UTF8String CONSUMER = UTF8String.fromString("CONSUMER");
    private static final UTF8String[] KINDS = {
        UTF8String.fromString("UNSPECIFIED"), INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER
    };
    private static final UTF8String[] STATES = {UNSET, OK, ERROR_STATUS};

    private SpanRow() {}

    /** The name of OpenTelemetry's number of a kind, the number itself when it has none. */
    static UTF8String kind(long number) {
        return name(KINDS, number);
    }

    /** The name of OpenTelemetry's number of a status. */
    static UTF8String status(long number) {
        return name(STATES, number);
    }

    private static UTF8String name(UTF8String[] names, long number) {
        return number >= 0 && number < names.length
                ? names[(int) number]
                : UTF8String.fromString(Integer.toString((int) number));
    }
}
