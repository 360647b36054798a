/**
 * Writes of a query: tasks stage rows, the driver commits them. It uses {@code sink} and {@code staging}. Begin
 * with {@link org.mmapqueue.spark.write.QueueWriteBuilder}.
 */
package org.mmapqueue.spark.write;
