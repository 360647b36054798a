/**
 * Layouts of segments and records, one mapped segment, and the files of the ring. It uses {@code io} and {@code
 * errors}. Begin at {@link org.mmapqueue.segment.RecordDescriptor}; {@link org.mmapqueue.segment.Segment} is one
 * mapped segment.
 */
package org.mmapqueue.segment;
