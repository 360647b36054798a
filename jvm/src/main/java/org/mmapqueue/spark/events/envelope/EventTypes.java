package org.mmapqueue.spark.events.envelope;

import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** The names of an event's types, by their numbers on the wire. */
public final class EventTypes {
    private static final int OTHER = 100;
    private static final Pattern UNNAMED = Pattern.compile("Type-?[0-9]{1,9}");
    private static final UTF8String OTHER_NAME = UTF8String.fromString("Other");
    private static final UTF8String[] NAMES =
            names("CLR", "JVM", "Metrics", "Tracing", "Logging", "Management", "Profile", "ServiceMesh", "Event");

    private EventTypes() {}

    static UTF8String name(long number) {
        if (number >= 0 && number < NAMES.length) {
            return NAMES[(int) number];
        }
        // A negative enum has 64 bits on the wire, of which the lower half counts.
        return number == OTHER ? OTHER_NAME : UTF8String.fromString("Type" + (int) number);
    }

    /** The number of a name; Other for an unknown one. */
    public static int number(UTF8String name) {
        for (int i = 0; i < NAMES.length; i++) {
            if (NAMES[i].equals(name)) {
                return i;
            }
        }
        String text = name == null ? "" : name.toString();
        return UNNAMED.matcher(text).matches() ? Integer.parseInt(text.substring(4)) : OTHER;
    }

    private static UTF8String[] names(String... names) {
        UTF8String[] texts = new UTF8String[names.length];
        for (int i = 0; i < names.length; i++) {
            texts[i] = UTF8String.fromString(names[i]);
        }
        return texts;
    }
}
