package org.mmapqueue.spark.events.rows;

import java.util.Locale;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** The columns of a log record, one schema for all sources, and the names of severities. */
public final class LogRow {
    public static final String SCHEMA =
            "time timestamp, observed_time timestamp, severity string, severity_number int, "
                    + "body string, attributes string, resource string, scope string, service string, "
                    + "instance string, endpoint string, trace_id string, span_id string, index int, "
                    + "error string";

    public static final int TIME = 0;
    public static final int OBSERVED_TIME = 1;
    public static final int SEVERITY = 2;
    public static final int SEVERITY_NUMBER = 3;
    public static final int BODY = 4;
    public static final int ATTRIBUTES = 5;
    public static final int RESOURCE = 6;
    public static final int SCOPE = 7;
    public static final int SERVICE = 8;
    public static final int INSTANCE = 9;
    public static final int ENDPOINT = 10;
    public static final int TRACE_ID = 11;
    public static final int SPAN_ID = 12;
    public static final int COLUMNS = 15;

    /** OpenTelemetry's numbers of the names that loggers use. */
    private static final Map<String, Integer> NUMBERS = Map.ofEntries(
            Map.entry("TRACE", 1),
            Map.entry("DEBUG", 5),
            Map.entry("INFO", 9),
            Map.entry("NOTICE", 10),
            Map.entry("WARN", 13),
            Map.entry("WARNING", 13),
            Map.entry("ERROR", 17),
            Map.entry("CRITICAL", 21),
            Map.entry("FATAL", 21));

    private static final String[] NAMES = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"};
    private static final int STEPS = 4;
    private static final UTF8String[] TEXTS = texts();

    private LogRow() {}

    /** The number of a level's name; null for an unknown one. */
    public static Integer severityNumber(UTF8String name) {
        return NUMBERS.get(name.toString().toUpperCase(Locale.ROOT));
    }

    /** OpenTelemetry's short name of a number from 1 to 24, such as INFO or INFO2; null for another number. */
    public static UTF8String severityName(int number) {
        return number > 0 && number <= TEXTS.length ? TEXTS[number - 1] : null;
    }

    private static UTF8String[] texts() {
        UTF8String[] texts = new UTF8String[NAMES.length * STEPS];
        for (int i = 0; i < texts.length; i++) {
            int step = i % STEPS;
            texts[i] = UTF8String.fromString(NAMES[i / STEPS] + (step == 0 ? "" : step + 1));
        }
        return texts;
    }
}
