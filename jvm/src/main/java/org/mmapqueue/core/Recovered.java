package org.mmapqueue.core;

/**
 * What the recovery at an open cost.
 *
 * @param nanos duration of the recovery; 0 without a recovery
 * @param truncatedBytes bytes after the last intact record that were cut off
 */
record Recovered(long nanos, long truncatedBytes) {
    /** For an open after a clean close. */
    static final Recovered NOTHING = new Recovered(0, 0);
}
