/** Batch and streaming sinks. */
package org.mmapqueue.spark.write;
