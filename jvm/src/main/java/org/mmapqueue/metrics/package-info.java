/**
 * The metrics of a queue: {@link org.mmapqueue.metrics.Metric} has their names, {@link
 * org.mmapqueue.metrics.PrometheusText} their text format; the rest counts. Uses nothing but the JDK.
 */
@NullMarked
package org.mmapqueue.metrics;

import org.jspecify.annotations.NullMarked;
