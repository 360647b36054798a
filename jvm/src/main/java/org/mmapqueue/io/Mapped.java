package org.mmapqueue.io;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;

/**
 * Access to mapped memory: little-endian words with the memory order that a caller needs, and unmapping.
 */
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

    private static final MethodHandle INVOKE_CLEANER = invokeCleaner();

    private Mapped() {}

    /**
     * Unmaps a buffer at once. Later access to the buffer crashes the JVM: the caller guarantees that there is none.
     */
    public static void unmap(MappedByteBuffer buffer) {
        try {
            INVOKE_CLEANER.invokeExact((ByteBuffer) buffer);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("unmapping failed", e);
        }
    }

    // sun.misc.Unsafe.invokeCleaner is the only way to unmap on every JDK from 17 on.
    private static MethodHandle invokeCleaner() {
        try {
            Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            var field = unsafe.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return MethodHandles.lookup()
                    .findVirtual(unsafe, "invokeCleaner", MethodType.methodType(void.class, ByteBuffer.class))
                    .bindTo(field.get(null));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
