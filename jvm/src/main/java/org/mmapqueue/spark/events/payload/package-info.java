/**
 * Chooses the decoder of a payload by its content type; syslog, lines, CloudEvents and metrics of Prometheus are
 * decoded here. It uses all other packages below {@code spark.events}. Begin with {@code LogPayload}.
 */
package org.mmapqueue.spark.events.payload;
