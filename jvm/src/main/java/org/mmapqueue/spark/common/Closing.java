package org.mmapqueue.spark.common;

import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;

/** Closes several partitions, or their consumers, also when one of them fails. */
public final class Closing {
    private Closing() {}

    /**
     * Closes in order. Throws the first failure, with the others suppressed.
     *
     * @param things what is closed
     * @param close closes one of them
     * @param <T> the type
     */
    public static <T> void all(Collection<? extends T> things, Consumer<? super T> close) {
        RuntimeException failure = null;
        for (T each : List.copyOf(things)) {
            try {
                close.accept(each);
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else if (failure != e) {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
