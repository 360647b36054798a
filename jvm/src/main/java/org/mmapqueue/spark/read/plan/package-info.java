/**
 * Maps options and filters to ranges of offsets, and cuts the ranges into input partitions. It uses {@code
 * pushdown}. Begin with {@link org.mmapqueue.spark.read.plan.RangeFinder}.
 */
package org.mmapqueue.spark.read.plan;
