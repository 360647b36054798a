package org.mmapqueue.spark.events;

import org.apache.spark.unsafe.types.UTF8String;

/** The columns of a metric's data point, one schema for all sources. */
final class PointRow {
    static final String SCHEMA = "name string, description string, unit string, kind string, temporality string, "
            + "monotonic boolean, time timestamp, start timestamp, value double, count bigint, "
            + "sum double, buckets string, attributes string, resource string, scope string, "
            + "service string, instance string, index int, error string";

    static final int NAME = 0;
    static final int DESCRIPTION = 1;
    static final int UNIT = 2;
    static final int KIND = 3;
    static final int TEMPORALITY = 4;
    static final int MONOTONIC = 5;
    static final int TIME = 6;
    static final int START = 7;
    static final int VALUE = 8;
    static final int COUNT = 9;
    static final int SUM = 10;
    static final int BUCKETS = 11;
    static final int ATTRIBUTES = 12;
    static final int RESOURCE = 13;
    static final int SCOPE = 14;
    static final int SERVICE = 15;
    static final int INSTANCE = 16;
    static final int COLUMNS = 19;

    static final UTF8String GAUGE = UTF8String.fromString("gauge");
    static final UTF8String SUM_KIND = UTF8String.fromString("sum");
    static final UTF8String HISTOGRAM = UTF8String.fromString("histogram");
    static final UTF8String EXPONENTIAL = UTF8String.fromString("exponential_histogram");
    static final UTF8String SUMMARY = UTF8String.fromString("summary");

    private PointRow() {}
}
