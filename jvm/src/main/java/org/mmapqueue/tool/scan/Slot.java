package org.mmapqueue.tool.scan;

import java.nio.file.Path;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.segment.SegmentHeader;

/**
 * What lies where a segment should be.
 *
 * @param id the segment's id
 * @param path its file
 * @param bytes what the file holds; null when there is none
 * @param header the header, when it is whole and this queue's and this segment's; else null
 * @param fault what is wrong with the file's length or the header; null when nothing is
 * @param isEmpty whether the header is all zeros
 */
public record Slot(long id, Path path, SegmentBytes bytes, SegmentHeader header, Mismatch fault, boolean isEmpty) {}
