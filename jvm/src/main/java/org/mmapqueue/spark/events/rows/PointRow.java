package org.mmapqueue.spark.events.rows;

import org.apache.spark.unsafe.types.UTF8String;

/** The columns of a metric's data point, one schema for all sources. */
public final class PointRow {
    public static final String SCHEMA =
            "name string, description string, unit string, kind string, temporality string, "
                    + "monotonic boolean, time timestamp, start timestamp, value double, count bigint, "
                    + "sum double, buckets string, attributes string, resource string, scope string, "
                    + "service string, instance string, index int, error string";

    public static final int NAME = 0;
    public static final int DESCRIPTION = 1;
    public static final int UNIT = 2;
    public static final int KIND = 3;
    public static final int TEMPORALITY = 4;
    public static final int MONOTONIC = 5;
    public static final int TIME = 6;
    public static final int START = 7;
    public static final int VALUE = 8;
    public static final int COUNT = 9;
    public static final int SUM = 10;
    public static final int BUCKETS = 11;
    public static final int ATTRIBUTES = 12;
    public static final int RESOURCE = 13;
    public static final int SCOPE = 14;
    public static final int SERVICE = 15;
    public static final int INSTANCE = 16;
    public static final int COLUMNS = 19;

    public static final UTF8String GAUGE = UTF8String.fromString("gauge");
    public static final UTF8String SUM_KIND = UTF8String.fromString("sum");
    public static final UTF8String HISTOGRAM = UTF8String.fromString("histogram");
    public static final UTF8String EXPONENTIAL = UTF8String.fromString("exponential_histogram");
    public static final UTF8String SUMMARY = UTF8String.fromString("summary");

    private PointRow() {}
}
