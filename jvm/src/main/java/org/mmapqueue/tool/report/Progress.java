package org.mmapqueue.tool.report;

/** Is told how far a tool has come; called by the thread that runs the tool. */
@FunctionalInterface
public interface Progress {
    /** Tells nobody. */
    Progress NONE = (done, total) -> {};

    /**
     * So much is done.
     *
     * @param done bytes that have been looked at
     * @param total bytes that there are to look at
     */
    void at(long done, long total);
}
