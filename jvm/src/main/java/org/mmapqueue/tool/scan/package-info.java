/**
 * Walks the log of a queue record by record, past damage. It reads files, not mappings, and shares only the
 * layouts with the queue's readers, so that one checks the other. Begin with {@code LogWalk}.
 */
package org.mmapqueue.tool.scan;
