package org.mmapqueue.archive.run;

/** Gives the arrays into which the blocks of runs are read. */
@FunctionalInterface
public interface BlockArrays {
    /** Reuses one array: records are valid up to the next read. */
    BlockArrays REUSED = (last, length) -> last.length >= length ? last : new byte[length];

    /**
     * An array for the next blocks.
     *
     * @param last the array that the same run was read into before; empty at first
     * @param length the minimum length
     */
    byte[] next(byte[] last, int length);
}
