package org.mmapqueue.bench.peer;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;

/**
 * bigqueue, from the jar in -Dbigqueue.jar, since no registry has it; the jars that it needs follow as in a class path.
 * Pages have 128 MiB, its default. It has no other calls than enqueue and dequeue; a reader calls gc() every 512 MiB.
 */
public final class BigQueue implements Subject {
    /** The system property that names the jar. */
    public static final String PROPERTY = "bigqueue.jar";

    private static final long GC_BYTES = 512 << 20;

    private final Object queue;
    private final int payload;

    /** Calls of its classes; constants, so that the JIT compiler inlines them. */
    private static final class Calls {
        static final MethodHandle NEW;
        static final MethodHandle ENQUEUE;
        static final MethodHandle DEQUEUE;
        static final MethodHandle FLUSH;
        static final MethodHandle GC;
        static final MethodHandle CLOSE;

        static {
            try {
                Class<?> type = Class.forName("com.leansoft.bigqueue.BigQueueImpl", true, loader());
                MethodHandles.Lookup lookup = MethodHandles.publicLookup();
                MethodType none = MethodType.methodType(void.class);
                NEW = lookup.findConstructor(type, MethodType.methodType(void.class, String.class, String.class))
                        .asType(MethodType.methodType(Object.class, String.class, String.class));
                ENQUEUE = lookup.findVirtual(type, "enqueue", MethodType.methodType(void.class, byte[].class))
                        .asType(MethodType.methodType(void.class, Object.class, byte[].class));
                DEQUEUE = lookup.findVirtual(type, "dequeue", MethodType.methodType(byte[].class))
                        .asType(MethodType.methodType(byte[].class, Object.class));
                FLUSH = lookup.findVirtual(type, "flush", none).asType(MethodType.methodType(void.class, Object.class));
                GC = lookup.findVirtual(type, "gc", none).asType(MethodType.methodType(void.class, Object.class));
                CLOSE = lookup.findVirtual(type, "close", none).asType(MethodType.methodType(void.class, Object.class));
            } catch (ReflectiveOperationException | MalformedURLException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        private Calls() {}

        // Never closed: classes are loaded from it until the JVM ends.
        private static URLClassLoader loader() throws MalformedURLException {
            List<URL> urls = new ArrayList<>();
            for (String jar : System.getProperty(PROPERTY).split(System.getProperty("path.separator"))) {
                urls.add(Path.of(jar).toUri().toURL());
            }
            return new URLClassLoader(urls.toArray(URL[]::new), BigQueue.class.getClassLoader());
        }
    }

    /**
     * Makes an empty queue.
     *
     * @throws IllegalStateException if -Dbigqueue.jar names no file
     */
    public BigQueue(Path directory, Shape shape) throws IOException {
        if (!isGiven()) {
            throw new IllegalStateException(
                    "-D" + PROPERTY + "=" + System.getProperty(PROPERTY) + ": expected the jar of bigqueue");
        }
        Files.createDirectories(directory);
        payload = shape.payload();
        try {
            queue = (Object) Calls.NEW.invokeExact(directory.toString(), "bench");
        } catch (Throwable e) {
            throw new IOException("bigqueue does not open in " + directory, e);
        }
    }

    /** Whether the jar exists. */
    public static boolean isGiven() {
        String jars = System.getProperty(PROPERTY, "");
        return !jars.isEmpty() && Files.isRegularFile(Path.of(jars.split(System.getProperty("path.separator"))[0]));
    }

    @Override
    public Writer writer() {
        return new Writer() {
            @Override
            public boolean push(byte[] record) {
                try {
                    Calls.ENQUEUE.invokeExact(queue, record);
                    return true;
                } catch (Throwable e) {
                    throw new IllegalStateException(e);
                }
            }

            @Override
            public boolean pushSync(byte[] record) {
                push(record);
                call(Calls.FLUSH);
                return true;
            }
        };
    }

    @Override
    public Reader reader() {
        byte[] heap = new byte[payload];
        return new Reader() {
            private long ungathered;

            @Override
            public boolean pop() {
                byte[] record;
                try {
                    record = (byte[]) Calls.DEQUEUE.invokeExact(queue);
                } catch (Throwable e) {
                    throw new IllegalStateException(e);
                }
                if (record == null) {
                    return false;
                }
                System.arraycopy(record, 0, heap, 0, record.length);
                ungathered += record.length;
                return true;
            }

            @Override
            public void ack() {
                if (ungathered >= GC_BYTES) {
                    ungathered = 0;
                    call(Calls.GC);
                }
            }
        };
    }

    @Override
    public void close() {
        call(Calls.CLOSE);
    }

    private void call(MethodHandle method) {
        try {
            method.invoke(queue);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
