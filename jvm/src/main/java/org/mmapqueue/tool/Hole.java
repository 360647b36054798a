package org.mmapqueue.tool;

import java.nio.file.Path;

import org.mmapqueue.io.Mismatch;

/** A stretch of the log in which no record is whole. How many were in it may be known only later. */
final class Hole {
    /** Where the first of them began: segment, and offset in it. */
    final long fromId;
    final int from;
    /** Where the log goes on. */
    final long toId;
    final int to;
    final long epoch;
    /** The records that the headers within show; 0 when they lead nowhere. */
    final int chained;
    final Path file;
    final Mismatch fault;

    /** The number of the first record that is lost, how many are, and whether these are known. */
    long first;
    long lost;
    boolean exact;

    Hole(long fromId, int from, long toId, int to, long epoch, int chained, Path file, Mismatch fault) {
        this.fromId = fromId;
        this.from = from;
        this.toId = toId;
        this.to = to;
        this.epoch = epoch;
        this.chained = chained;
        this.file = file;
        this.fault = fault;
    }

    Finding finding() {
        return new Finding(Finding.Kind.CORRUPT, file.toString(), fault.at(), fault.toString(), first, first + lost - 1,
                exact);
    }
}
