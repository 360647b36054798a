package org.mmapqueue.io;

import java.io.Closeable;
import java.io.IOException;

/** Closes several things, all of them, whatever fails. */
public final class Closing {
    private Closing() {
    }

    /** Closes in the order given, nulls left out; raises the first failure, with the others suppressed. */
    public static void all(Closeable... things) throws IOException {
        Exception failure = null;
        for (Closeable thing : things) {
            try {
                if (thing != null) {
                    thing.close();
                }
            } catch (IOException | RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
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
    }
}
