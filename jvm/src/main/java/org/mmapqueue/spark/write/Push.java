package org.mmapqueue.spark.write;

import java.time.Duration;

/**
 * How staged rows are pushed.
 *
 * @param timeout the longest to wait for room
 * @param sync whether what has been pushed is on the disk when it is told
 */
record Push(Duration timeout, boolean sync) {
}
