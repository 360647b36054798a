/**
 * The part of a query that the source evaluates: filters as sets of numbers. It uses only the columns of {@code
 * spark.common}. Begin with {@link org.mmapqueue.spark.read.pushdown.Condition}.
 */
package org.mmapqueue.spark.read.pushdown;
