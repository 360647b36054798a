/**
 * The source of {@code mmapqueue.process_stream}: a micro-batch is what a consumer has popped, and each of its records gets
 * an outcome. Begin with {@link org.mmapqueue.spark.work.WorkStream}.
 */
package org.mmapqueue.spark.work;
