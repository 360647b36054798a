/**
 * The writing side of an open queue: producers that wait for ring space, the housekeeping thread, and gc. It uses
 * {@code append}, {@code lookup}, {@code registry}, {@code flush} and the packages below them. Begin at {@link
 * org.mmapqueue.write.Writer}; {@link org.mmapqueue.write.RingSpace} decides when a slot is free.
 */
package org.mmapqueue.write;
