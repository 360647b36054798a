/**
 * The roofline: the speed of this machine with a ring of memory-mapped segments and no queue. No cursors on disk, no
 * recovery, no fan-out; one writer, one reader, one preallocating thread, and an optional flusher. Begin with {@code Ring}.
 */
package org.mmapqueue.bench.roofline;
