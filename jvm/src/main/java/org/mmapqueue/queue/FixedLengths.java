package org.mmapqueue.queue;

/**
 * Records of somebody else, whose number and lengths were asked for once: room is reserved by them, and what is stored
 * must not be longer.
 */
final class FixedLengths implements Records {
    private final Records records;
    private final int[] lengths;

    /** Asks for the lengths; raises IllegalArgumentException when there is one below 0. */
    FixedLengths(Records records) {
        this.records = records;
        int count = records.count();
        if (count < 0) {
            throw new IllegalArgumentException("a batch of " + count + " payloads, expected 0 or more");
        }
        lengths = new int[count];
        for (int i = 0; i < count; i++) {
            lengths[i] = records.length(i);
            if (lengths[i] < 0) {
                throw new IllegalArgumentException("length " + lengths[i] + " of payload " + i
                        + ", expected 0 or more");
            }
        }
    }

    @Override
    public int count() {
        return lengths.length;
    }

    @Override
    public byte[] array(int i) {
        return records.array(i);
    }

    @Override
    public int from(int i) {
        return records.from(i);
    }

    @Override
    public int length(int i) {
        return lengths[i];
    }
}
