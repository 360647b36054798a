package org.mmapqueue.bridge;

import java.util.Locale;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;

/** Places of a queue as text. */
final class Places {
    private static final String OFFSET = "offset:";
    private static final String TIME = "time:";

    private Places() {}

    /**
     * The place that a text says.
     *
     * @param text "earliest", "latest", "committed", "offset:" and a number, or "time:" and µs since 1970
     * @throws ConfigException for any other text
     */
    static StartAt of(String text) {
        String place = text.toLowerCase(Locale.ROOT);
        try {
            if (place.startsWith(OFFSET)) {
                return StartAt.offset(Long.parseLong(place.substring(OFFSET.length())));
            }
            if (place.startsWith(TIME)) {
                return StartAt.timestamp(Long.parseLong(place.substring(TIME.length())));
            }
        } catch (NumberFormatException e) {
            throw refused(text);
        }
        return switch (place) {
            case "earliest" -> StartAt.EARLIEST;
            case "latest" -> StartAt.LATEST;
            case "committed" -> StartAt.COMMITTED;
            default -> throw refused(text);
        };
    }

    private static ConfigException refused(String text) {
        return new ConfigException(
                "start", text, "earliest, latest, committed, offset:<number> or time:<µs since 1970>");
    }
}
