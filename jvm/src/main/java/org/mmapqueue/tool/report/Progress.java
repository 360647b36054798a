package org.mmapqueue.tool.report;

/** Receives the progress of a tool, in the thread that runs the tool. */
@FunctionalInterface
public interface Progress {
    /** Ignores the progress. */
    Progress NONE = (done, total) -> {};

    /**
     * Called several times, the last time with {@code done == total}.
     *
     * @param done bytes read so far
     * @param total bytes to read
     */
    void at(long done, long total);
}
