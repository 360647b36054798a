package org.mmapqueue.swap;

/** For swappers that are tested without a queue: a writer at the beginning and no readers. */
public record Nowhere() implements Scopes {
    @Override
    public long writing() {
        return 0;
    }

    @Override
    public long[] reading() {
        return new long[0];
    }
}
