package org.mmapqueue.errors;

/** Another process, or another class loader in this process, holds a lock. */
public final class LockedException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    private final long pid;

    /**
     * Makes the exception.
     *
     * @param message what is locked, and by which process
     * @param pid the holder's process id, or -1 where it is not known
     */
    public LockedException(String message, long pid) {
        super(message);
        this.pid = pid;
    }

    /** {@return the holder's process id, or -1 where it is not known} */
    public long pid() {
        return pid;
    }
}
