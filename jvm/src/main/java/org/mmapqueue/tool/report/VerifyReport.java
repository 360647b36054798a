package org.mmapqueue.tool.report;

import java.util.List;

/**
 * What a directory holds. Immutable.
 *
 * @param path the directory
 * @param version the format version; 0 when even that can not be read
 * @param clean whether the last writer closed the queue
 * @param records whole records, of those that are there
 * @param payloadBytes of their payloads
 * @param firstOffset the number of the first record that is there
 * @param endOffset the number behind the last one
 * @param segments segment files that are part of the log
 * @param consumers the consumers, in alphabetical order but for the default one, which is first
 * @param findings all that is not as it should be
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

    /** Whether there is no damage. An unclean end and files that belong to nothing are none. */
    public boolean isWhole() {
        return findings.stream().noneMatch(each -> each.kind() == Finding.Kind.CORRUPT);
    }

    /** How many records are lost, or at most are. */
    public long lost() {
        return findings.stream().mapToLong(each -> Math.max(0, each.lost())).sum();
    }
}
