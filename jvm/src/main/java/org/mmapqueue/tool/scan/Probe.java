package org.mmapqueue.tool.scan;

/** A cursor to locate in the log. */
public final class Probe {
    public final long position;
    /** The position at which the next record begins: the stored position, if a record ends there. */
    public long resumePosition = -1;
    /** The offset of that record. */
    public long resumeOffset = -1;

    public Probe(long position) {
        this.position = position;
    }

    /** Resolves the cursor to a record. */
    public void moveTo(long newPosition, long offset) {
        resumePosition = newPosition;
        resumeOffset = offset;
    }

    /** Whether the walk has reached the cursor. */
    public boolean isFound() {
        return resumePosition >= 0;
    }

    /** Whether no record ends at the stored position. */
    public boolean isMisplaced() {
        return resumePosition != position;
    }
}
