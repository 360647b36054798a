package org.mmapqueue.tool.scan;

import org.mmapqueue.meta.MetaFields;

/**
 * What of a log is to be walked.
 *
 * @param facts the queue's facts
 * @param firstId the segment to begin in
 * @param lastId no segment behind this one is looked for
 * @param begin a fault before this position is damage; behind it, when the end is not known, it is the end
 * @param end where the log ends; Long.MAX_VALUE when that is to be found out
 * @param endOffset the offset of the record that comes next there; -1 when it is not known
 * @param isEndLost whether the end was stored and is lost: then a fault is the end only if nothing behind it is whole
 */
public record WalkRange(
        MetaFields facts, long firstId, long lastId, long begin, long end, long endOffset, boolean isEndLost) {}
