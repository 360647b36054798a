package org.mmapqueue.io;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.mmapqueue.errors.MmapQueueException;

/** The text of an error within the message of another one. */
public final class CauseText {
    private CauseText() {}

    /**
     * Returns the message alone where it says all. Other classes say what it does not: the message of NoSuchFileException
     * is the path alone.
     */
    public static String of(Throwable e) {
        if (e instanceof UncheckedIOException unchecked) {
            return of(unchecked.getCause());
        }
        boolean saysAll = e.getMessage() != null
                && (e instanceof MmapQueueException || e.getClass().equals(IOException.class));
        return saysAll ? e.getMessage() : e.toString();
    }
}
