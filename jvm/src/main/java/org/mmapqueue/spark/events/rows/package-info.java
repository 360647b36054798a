/**
 * The columns of log records, spans and data points. It uses nothing. Begin with {@code LogRow}.
 */
package org.mmapqueue.spark.events.rows;
