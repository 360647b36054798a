package org.mmapqueue.tool.scan;

/** A segment's header as it has to be; the number of its first record may be known only later. */
public final class RebuiltHeader implements Numbering.Numbered {
    public final long id;
    public final long epoch;
    public final int first;
    public final long timestamp;
    public long baseIndex;

    /**
     * A header.
     *
     * @param first where the first record starts; the segment's size or 0 when none does
     * @param timestamp no record that starts here is older, µs since 1970
     */
    RebuiltHeader(long id, long epoch, int first, long timestamp) {
        this.id = id;
        this.epoch = epoch;
        this.first = first;
        this.timestamp = timestamp;
    }

    /** The same segment's when the log begins in it, behind what is lost. */
    RebuiltHeader beginsAt(int offset, long number) {
        RebuiltHeader later = new RebuiltHeader(id, epoch, offset, timestamp);
        later.baseIndex = number;
        return later;
    }

    @Override
    public void number(long number) {
        baseIndex = number;
    }
}
