/**
 * The metrics of a queue: names, counters, and {@link org.mmapqueue.metrics.PrometheusText Prometheus' text format}. It
 * uses the JDK alone. Begin at {@link org.mmapqueue.metrics.Metric}.
 */
@NullMarked
package org.mmapqueue.metrics;

import org.jspecify.annotations.NullMarked;
