package org.mmapqueue.core;

import org.mmapqueue.log.LogEnd;

/**
 * The log end that an open has found, and what the recovery cost.
 *
 * @param nanos duration of the recovery; 0 without a recovery
 * @param truncatedBytes bytes after the last intact record that were cut off
 */
record Recovered(LogEnd end, long nanos, long truncatedBytes) {}
