package org.mmapqueue.bridge;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.mmapqueue.DamagedRange;

/** Formats statistics as text for Python. */
final class StatsText {
    private StatsText() {}

    /**
     * The components of a record, in order, as name=value: durations and times in µs; the value of an empty optional is
     * empty.
     */
    static String of(Record stats, String separator) {
        return Arrays.stream(stats.getClass().getRecordComponents())
                .map(component -> {
                    try {
                        return component.getName()
                                + '='
                                + text(component.getAccessor().invoke(stats));
                    } catch (ReflectiveOperationException e) {
                        throw new IllegalStateException("a public record's own accessor", e);
                    }
                })
                .collect(Collectors.joining(separator));
    }

    /**
     * A line for each range: consumer, first and last offset, position, file and detail, separated by {@link
     * Bridge#SEPARATOR}.
     */
    static String of(Map<String, List<DamagedRange>> damaged) {
        return damaged.entrySet().stream()
                .flatMap(each -> each.getValue().stream().map(range -> of(each.getKey(), range)))
                .collect(Collectors.joining("\n"));
    }

    private static String of(String consumer, DamagedRange range) {
        return Bridge.line(
                consumer, range.firstOffset(), range.lastOffset(), range.position(), range.file(), range.detail());
    }

    private static String text(Object value) {
        if (value instanceof Optional<?> optional) {
            return optional.map(StatsText::text).orElse("");
        }
        if (value instanceof Instant time) {
            return Long.toString(ChronoUnit.MICROS.between(Instant.EPOCH, time));
        }
        return value instanceof Duration duration
                ? Long.toString(TimeUnit.MICROSECONDS.convert(duration))
                : String.valueOf(value);
    }
}
