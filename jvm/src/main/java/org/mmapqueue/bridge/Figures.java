package org.mmapqueue.bridge;

import java.util.Arrays;
import java.util.stream.Collectors;

/** Records of figures as text. */
final class Figures {
    private Figures() {}

    /** The components of a record by name, as name=value, in their order. */
    static String of(Record figures, String separator) {
        return Arrays.stream(figures.getClass().getRecordComponents())
                .map(component -> {
                    try {
                        return component.getName()
                                + '='
                                + component.getAccessor().invoke(figures);
                    } catch (ReflectiveOperationException e) {
                        throw new IllegalStateException("a public record's own accessor", e);
                    }
                })
                .collect(Collectors.joining(separator));
    }
}
