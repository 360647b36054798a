package org.mmapqueue.io;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;

/**
 * Maps into a shared {@code java.lang.foreign.Arena} of its own for each mapping, and unmaps by closing the arena. An
 * access after that throws IllegalStateException. Java 22 and newer have this interface; the jar is compiled for Java
 * 17, so it is found at run time.
 */
final class ArenaMapper implements Mapper {
    private static final int SINCE = 22;

    private final MethodHandle ofShared;
    private final MethodHandle map;
    private final MethodHandle asByteBuffer;
    private final MethodHandle close;

    private ArenaMapper(Class<?> arena, Class<?> segment) throws ReflectiveOperationException {
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        ofShared = lookup.findStatic(arena, "ofShared", MethodType.methodType(arena))
                .asType(MethodType.methodType(Object.class));
        map = lookup.findVirtual(
                        FileChannel.class,
                        "map",
                        MethodType.methodType(segment, MapMode.class, long.class, long.class, arena))
                .asType(MethodType.methodType(
                        Object.class, FileChannel.class, MapMode.class, long.class, long.class, Object.class));
        asByteBuffer = lookup.findVirtual(segment, "asByteBuffer", MethodType.methodType(ByteBuffer.class))
                .asType(MethodType.methodType(ByteBuffer.class, Object.class));
        close = lookup.findVirtual(arena, "close", MethodType.methodType(void.class))
                .asType(MethodType.methodType(void.class, Object.class));
    }

    /** The mapper; null before Java 22, where the interface was a preview. */
    static Mapper find() {
        if (Runtime.version().feature() < SINCE) {
            return null;
        }
        try {
            return new ArenaMapper(
                    Class.forName("java.lang.foreign.Arena"), Class.forName("java.lang.foreign.MemorySegment"));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @Override
    public Mapping map(FileChannel channel, MapMode mode, long size) throws IOException {
        Object arena = null;
        boolean done = false;
        try {
            arena = (Object) ofShared.invokeExact();
            Object segment = (Object) map.invokeExact(channel, mode, 0L, size, arena);
            MappedByteBuffer bytes = (MappedByteBuffer) (ByteBuffer) asByteBuffer.invokeExact(segment);
            Object owner = arena;
            done = true;
            return new Mapping(bytes, () -> close(owner));
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("mapping failed", e);
        } finally {
            if (!done && arena != null) {
                close(arena);
            }
        }
    }

    private void close(Object arena) {
        try {
            close.invokeExact(arena);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("unmapping failed", e);
        }
    }
}
