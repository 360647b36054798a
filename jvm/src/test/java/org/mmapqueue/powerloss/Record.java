package org.mmapqueue.powerloss;

import java.nio.ByteBuffer;
import java.util.SplittableRandom;

/**
 * A record that a run has pushed. Its number is given once, so a record of an earlier generation, or one that was lost and
 * whose offset was given again, is never taken for it.
 */
@SuppressWarnings("JavaLangClash") // java.lang.Record is not named in this package
record Record(long number, int length, boolean batchContinues) {

    byte[] payload() {
        byte[] bytes = new byte[Math.max(Long.BYTES, length)];
        new SplittableRandom(number).nextBytes(bytes);
        ByteBuffer.wrap(bytes).putLong(number);
        return bytes;
    }
}
