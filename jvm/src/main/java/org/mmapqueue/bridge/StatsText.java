package org.mmapqueue.bridge;

import java.util.Arrays;
import java.util.stream.Collectors;

/** Statistics as text. */
final class StatsText {
    private StatsText() {}

    /** The components of a record, in order, as name=value. */
    static String of(Record stats, String separator) {
        return Arrays.stream(stats.getClass().getRecordComponents())
                .map(component -> {
                    try {
                        return component.getName()
                                + '='
                                + component.getAccessor().invoke(stats);
                    } catch (ReflectiveOperationException e) {
                        throw new IllegalStateException("a public record's own accessor", e);
                    }
                })
                .collect(Collectors.joining(separator));
    }
}
