/**
 * Payloads of OTLP, in Protocol Buffers or JSON, as rows. It uses {@code wire}, {@code rows} and {@code
 * skywalking}. Begin with {@code OtlpRows}.
 */
package org.mmapqueue.spark.events.otlp;
