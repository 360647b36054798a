/**
 * Reads records of one partition inside a task, stored or in real time. It uses {@code plan} and {@code
 * pushdown}. Begin with {@link org.mmapqueue.spark.read.task.QueueReaderFactory}.
 */
package org.mmapqueue.spark.read.task;
