/**
 * The queue that a query writes to: opening, exactly-once push of committed batches, waiting for room. It uses
 * {@code staging}. Begin with {@code SinkQueue}.
 */
package org.mmapqueue.spark.write.sink;
