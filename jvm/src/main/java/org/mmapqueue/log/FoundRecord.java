package org.mmapqueue.log;

import java.io.IOException;

/** The record that a reader has found. */
public interface FoundRecord {
    /** Bytes of payload. */
    int length();

    /** The timestamp in µs since 1970, 0 for none. */
    long timestamp();

    /**
     * Copies the payload, after a check of its checksum.
     *
     * @param start index in the target of the first byte
     */
    void read(byte[] target, int start) throws IOException;
}
