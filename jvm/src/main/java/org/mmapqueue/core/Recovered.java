package org.mmapqueue.core;

/**
 * What the recovery of an open took.
 *
 * @param nanos its duration; 0 without one
 * @param truncatedBytes bytes after the last whole record that it has cut off
 */
record Recovered(long nanos, long truncatedBytes) {
    /** After a clean close. */
    static final Recovered NOTHING = new Recovered(0, 0);
}
