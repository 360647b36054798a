package org.mmapqueue.tool.report;

import java.util.List;

/**
 * The report of a verification. Immutable.
 *
 * @param path the directory
 * @param version the format version; 0 when it cannot be read
 * @param clean whether the last writer closed the queue
 * @param records the number of intact records
 * @param payloadBytes bytes of their payloads
 * @param firstOffset the log start: the offset of the oldest record
 * @param endOffset the log end: the offset of the next record
 * @param segments the number of segment files that are part of the log
 * @param consumers the consumers, in alphabetical order
 * @param findings the irregularities
 */
public record VerifyReport(
        String path,
        int version,
        boolean clean,
        long records,
        long payloadBytes,
        long firstOffset,
        long endOffset,
        long segments,
        List<ConsumerState> consumers,
        List<Finding> findings) {

    /** {@return whether no finding is damage; an unclean shutdown and orphaned files are not damage} */
    public boolean isWhole() {
        return findings.stream().noneMatch(each -> each.kind() == Finding.Kind.CORRUPT);
    }

    /** {@return the number of lost records, or their upper bound} */
    public long lost() {
        return findings.stream().mapToLong(each -> Math.max(0, each.lost())).sum();
    }
}
