/**
 * Builds scans: which columns, filters, limits and aggregates of a query are pushed down. It uses all packages
 * below {@code spark.read}. Begin with {@link org.mmapqueue.spark.read.QueueScanBuilder}.
 */
package org.mmapqueue.spark.read;
