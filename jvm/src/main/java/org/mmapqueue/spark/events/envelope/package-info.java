/**
 * The event that carries a payload: its fields, and how it is decoded and encoded. It uses {@code wire}, {@code
 * otlp} and {@code skywalking}. Begin with {@code EventDecoder}.
 */
package org.mmapqueue.spark.events.envelope;
