/**
 * Functions of a Spark catalog that decode events of a pipeline into rows: the envelope, and the log records,
 * spans and data points of payloads. They use the packages below {@code spark.events} and read no queue. Begin
 * with {@link org.mmapqueue.spark.events.EventFunctions}. The bytes come from the network: every length, depth
 * and type is checked, and bytes that cannot be decoded become a row with an error, never a failed task.
 */
package org.mmapqueue.spark.events;
