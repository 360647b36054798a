package org.mmapqueue.harness;

import java.util.Locale;

/** A guarantee of the queue that does not hold. */
public final class Violation extends AssertionError {
    private static final long serialVersionUID = 1L;

    public Violation(String message) {
        super(message);
    }

    public Violation(String message, Throwable cause) {
        super(message, cause);
    }

    /** Throws if a guarantee does not hold; the values are for the format. */
    public static void unless(boolean holds, String format, Object... values) {
        if (!holds) {
            throw new Violation(String.format(Locale.ROOT, format, values));
        }
    }
}
