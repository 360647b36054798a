package org.mmapqueue.tool.scan;

import org.mmapqueue.meta.MetaFields;

/**
 * The part of a log to walk.
 *
 * @param retainedFrom records before this position are in the walk only because they share a segment with later ones: all
 *     consumers have acked them, and a loss of power may have cut them
 * @param begin a fault before this position is damage; a fault at or after it, if the end is unknown, is the log end
 * @param end the log end; Long.MAX_VALUE when unknown
 * @param endOffset the offset of the next record at the log end; -1 when unknown
 * @param isEndLost whether a stored log end is lost: then a fault is the log end only if no intact record follows
 */
public record WalkRange(
        MetaFields facts,
        long firstId,
        long lastId,
        long retainedFrom,
        long begin,
        long end,
        long endOffset,
        boolean isEndLost) {}
