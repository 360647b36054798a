package org.mmapqueue.bridge;

import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Statistics as text. */
final class StatsText {
    private StatsText() {}

    /** The components of a record, in order, as name=value: durations in µs, nothing for an empty optional. */
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

    private static String text(Object value) {
        if (value instanceof Optional<?> optional) {
            return optional.map(StatsText::text).orElse("");
        }
        return value instanceof Duration duration
                ? Long.toString(TimeUnit.MICROSECONDS.convert(duration))
                : String.valueOf(value);
    }
}
