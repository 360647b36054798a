/**
 * Layouts of segments and records, one mapped segment, and the files of the ring. Knows nothing of who reads or writes.
 */
package org.mmapqueue.segment;
