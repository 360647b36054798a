/**
 * JMH benchmarks of the queue beside a roofline: the same bytes through the same kind of ring with no queue around it.
 * Absolute figures move from machine to machine and from minute to minute; the ratio of two rows of one run is what
 * counts. {@link org.mmapqueue.bench.BenchMain} runs a suite and prints the table.
 */
package org.mmapqueue.bench;
