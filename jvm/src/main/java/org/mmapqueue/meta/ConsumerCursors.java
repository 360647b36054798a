package org.mmapqueue.meta;

import java.io.IOException;

/**
 * The two stored positions of one consumer. Each is one 64-bit word, read and written atomically by any thread and
 * process; who may write them is the consumer's owner alone.
 */
public interface ConsumerCursors {

    /** Everything before this position is acked; its space may be used again. */
    long committed();

    /** Moves the committed position. */
    void committed(long position);

    /** Everything before this position has been popped. */
    long reading();

    /** Moves the reading position. */
    void reading(long position);

    /** Forces both to the disk. */
    void force() throws IOException;
}
