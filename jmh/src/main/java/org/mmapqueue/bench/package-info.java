/**
 * JMH benchmarks of the queue beside a roofline: the same bytes through the same kind of ring without a queue. Compare
 * rows of one run alone, since absolute figures change with the machine and the minute. Begin with
 * {@link org.mmapqueue.bench.PushBenchmark}; {@link org.mmapqueue.bench.BenchMain} runs the suite.
 */
package org.mmapqueue.bench;
