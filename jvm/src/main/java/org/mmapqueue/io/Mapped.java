package org.mmapqueue.io;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Access to mapped memory: little-endian words with the memory order that a caller needs. */
public final class Mapped {
    /** Little-endian 64-bit words of a buffer, by byte index; atomic where the index is a multiple of 8. */
    public static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    /** Little-endian 32-bit words of a buffer, by byte index. */
    public static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    /** Little-endian 64-bit words of a byte array, by byte index. */
    public static final VarHandle ARRAY_LONG = MethodHandles.byteArrayViewVarHandle(
                    long[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    /** Little-endian 32-bit words of a byte array, by byte index. */
    public static final VarHandle ARRAY_INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();

    private Mapped() {}

    /** Whether all bytes from one multiple of 8 up to another are 0. */
    public static boolean isZero(ByteBuffer bytes, int from, int to) {
        for (int at = from; at < to; at += Long.BYTES) {
            if (bytes.getLong(at) != 0) {
                return false;
            }
        }
        return true;
    }
}
