package org.mmapqueue.consume;

/** The archive for what the ring gives up, as a consumer of the queue uses it. Safe for any number of threads. */
public interface QueueArchive {
    /** For a queue that gives up nothing. */
    QueueArchive NONE = new QueueArchive() {
        @Override
        public boolean isThere() {
            return false;
        }

        @Override
        public ReadAhead readAhead(String consumer, boolean skipsDamage) {
            throw new IllegalStateException("the queue has no archive");
        }
    };

    /** Whether the queue has such an archive; reads a file of the queue's directory. */
    boolean isThere();

    /**
     * Loads records ahead of a consumer; reads nothing yet.
     *
     * @param skipsDamage whether damaged and missing records are skipped
     */
    ReadAhead readAhead(String consumer, boolean skipsDamage);
}
