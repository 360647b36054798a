package org.mmapqueue.tool.scan;

/** A cursor that is to be found in the log. */
public final class Probe {
    /** The position that is stored. */
    public final long position;
    /** Where the next record begins from there on; the same position when it is one at which a record ends. */
    public long place = -1;
    /** The number of the record that begins there. */
    public long number = -1;

    public Probe(long position) {
        this.position = position;
    }

    /** Moves it to where it can be. */
    void moveTo(long position, long offset) {
        place = position;
        number = offset;
    }

    /** Whether the walk has come to it or past it. */
    public boolean isFound() {
        return place >= 0;
    }

    /** Whether it stands where no record ends. */
    public boolean isMisplaced() {
        return place != position;
    }
}
