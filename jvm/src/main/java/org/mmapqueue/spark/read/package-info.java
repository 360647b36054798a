/** Batch and streaming scans. */
package org.mmapqueue.spark.read;
