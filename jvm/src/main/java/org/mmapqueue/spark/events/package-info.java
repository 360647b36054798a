/**
 * The events of a pipeline as rows: functions of a catalog that decode an event's envelope, and the log records, spans
 * and data points of OTLP and SkyWalking payloads. Nothing here reads a queue.
 *
 * <p>The bytes come from the network, so every length, depth and type is checked. What cannot be decoded becomes a row
 * with an error, never a failed task.
 */
package org.mmapqueue.spark.events;
