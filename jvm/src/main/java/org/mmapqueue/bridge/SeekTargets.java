package org.mmapqueue.bridge;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;

/** Parses seek targets. */
final class SeekTargets {
    private static final String OFFSET = "offset:";
    private static final String TIME = "time:";

    private SeekTargets() {}

    /**
     * Parses a target.
     *
     * @param text "earliest", "latest", "committed", "offset:" and a number, or "time:" and µs since 1970
     * @throws ConfigException for any other text
     */
    static StartAt parse(String text) {
        String target = text.toLowerCase(Locale.ROOT);
        try {
            if (target.startsWith(OFFSET)) {
                return StartAt.offset(Long.parseLong(target.substring(OFFSET.length())));
            }
            if (target.startsWith(TIME)) {
                return StartAt.timestamp(
                        Instant.EPOCH.plus(Long.parseLong(target.substring(TIME.length())), ChronoUnit.MICROS));
            }
        } catch (NumberFormatException e) {
            throw invalid(text);
        }
        return switch (target) {
            case "earliest" -> StartAt.EARLIEST;
            case "latest" -> StartAt.LATEST;
            case "committed" -> StartAt.COMMITTED;
            default -> throw invalid(text);
        };
    }

    private static ConfigException invalid(String text) {
        return new ConfigException(
                "start", text, "earliest, latest, committed, offset:<number> or time:<µs since 1970>");
    }
}
