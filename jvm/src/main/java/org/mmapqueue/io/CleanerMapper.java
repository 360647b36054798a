package org.mmapqueue.io;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Unmaps by {@code sun.misc.Unsafe.invokeCleaner}, of the module jdk.unsupported. The buffer is an ordinary one, which
 * the garbage collector could unmap, so an access costs no check. An access after the unmapping crashes the JVM.
 */
record CleanerMapper(MethodHandle invokeCleaner) implements Mapper {
    /** The first release of the JDK that warns of the method on standard error. */
    static final int WARNED_SINCE = 24;

    /** The mapper; null when this JDK does not have the method. */
    static Mapper find() {
        try {
            Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            var field = unsafe.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return new CleanerMapper(MethodHandles.publicLookup()
                    .findVirtual(unsafe, "invokeCleaner", MethodType.methodType(void.class, ByteBuffer.class))
                    .bindTo(field.get(null)));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    @Override
    public Mapping map(FileChannel channel, FileChannel.MapMode mode, long size) throws IOException {
        MappedByteBuffer bytes = channel.map(mode, 0, size);
        return new Mapping(bytes, () -> unmap(bytes));
    }

    private void unmap(ByteBuffer bytes) {
        try {
            invokeCleaner.invokeExact(bytes);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("unmapping failed", e);
        }
    }
}
