/**
 * The driver's side of a streaming query: offsets, limits, the consumers that retain records for the checkpoint.
 * It uses {@code task} and {@code plan}. Begin with {@code QueueMicroBatchStream}.
 */
package org.mmapqueue.spark.read.stream;
