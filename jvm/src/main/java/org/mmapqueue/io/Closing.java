package org.mmapqueue.io;

import java.io.Closeable;
import java.io.IOException;

/** Closes several resources, also when one of them fails. */
public final class Closing {
    private Closing() {}

    /** Closes in the order given; skips nulls. Throws the first failure, also an Error, with the others suppressed. */
    public static void all(Closeable... things) throws IOException {
        Throwable failure = null;
        for (Closeable thing : things) {
            try {
                if (thing != null) {
                    thing.close();
                }
            } catch (IOException | RuntimeException | Error e) {
                if (failure == null) {
                    failure = e;
                } else if (failure != e) {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure instanceof IOException e) {
            throw e;
        }
        if (failure instanceof RuntimeException e) {
            throw e;
        }
        if (failure instanceof Error e) {
            throw e;
        }
    }
}
