/**
 * Readers and writers of Protocol Buffers, gob and JSON, and checked UTF-8. It uses only Spark's strings. Begin
 * with {@code WireReader}; bytes that break a format throw {@code MalformedException}.
 */
package org.mmapqueue.spark.events.wire;
