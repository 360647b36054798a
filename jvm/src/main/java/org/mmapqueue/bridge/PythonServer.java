package org.mmapqueue.bridge;

import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The main program of a JVM that a Python process starts for itself. The two share a pipe, stdin: its first line is the
 * token that clients must send, and its end is the end of the owner, also after a kill. The JVM then exits; if its
 * shutdown hooks have not ended after a grace period, it halts, whatever its threads do: a JVM without an owner must not
 * keep the locks of its queues. No signal but a kill ends it before: a service manager signals all processes of a service,
 * and the owner needs its JVM for the end of its work.
 *
 * <p>The line with the port begins with {@link #READY}. Agents and options of the JVM may print other lines before.
 */
public final class PythonServer {
    /** Begins the line of stdout that ends with the port. */
    static final String READY = "mmapqueue.port=";

    private PythonServer() {}

    /**
     * Serves until the owner has ended.
     *
     * @param arguments the grace period, in ms; then the directory of a queue that the owner is going to read, if it
     *     named one at the start
     */
    @SuppressWarnings("SystemExitOutsideMain") // the main program of a JVM, which py4j's threads keep running
    public static void main(String[] arguments) {
        Duration grace = Duration.ofMillis(Long.parseLong(arguments[0]));
        CountDownLatch ownerEnded = new CountDownLatch(1);
        // Started first: at the end, no thread can be started if memory has run out.
        Thread halt = new Thread(() -> haltAfter(ownerEnded, grace), "mmapqueue-halt");
        halt.setDaemon(true);
        halt.start();
        int status = 0;
        try (InputStream owner = new FileInputStream(FileDescriptor.in)) {
            String token = firstLine(owner);
            if (!token.isEmpty()) {
                announce(start(token));
                leaveSignalsToOwner();
                if (arguments.length > 1) {
                    startWarmUp(arguments[1]);
                }
                while (owner.read() >= 0) {
                    // Only the end matters.
                }
            }
        } catch (IOException | ReflectiveOperationException | LinkageError e) {
            e.printStackTrace();
            status = 1;
        } finally {
            ownerEnded.countDown();
            System.exit(status);
        }
    }

    private static String firstLine(InputStream owner) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = owner.read(); next >= 0 && next != '\n'; next = owner.read()) {
            line.write(next);
        }
        return line.toString(StandardCharsets.US_ASCII);
    }

    /** Starts py4j's server on a free port of the loopback device; returns the port. The jar does not contain py4j. */
    private static int start(String token) throws ReflectiveOperationException {
        Class<?> type = Class.forName("py4j.GatewayServer$GatewayServerBuilder");
        Object builder = type.getConstructor().newInstance();
        type.getMethod("javaPort", int.class).invoke(builder, 0);
        type.getMethod("authToken", String.class).invoke(builder, token);
        Object server = type.getMethod("build").invoke(builder);
        server.getClass().getMethod("start").invoke(server);
        return (int) server.getClass().getMethod("getListeningPort").invoke(server);
    }

    /** Prints the line with the port. One write: lines of other threads and of the JVM do not mix with it. */
    @SuppressWarnings("StreamResourceLeak") // stdout stays open
    private static void announce(int port) throws IOException {
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        // Another line may have no end yet.
        out.write(("\n" + READY + port + "\n").getBytes(StandardCharsets.US_ASCII));
    }

    /** Ignores the signals that would end this JVM. By reflection, as javac warns of these classes. */
    @SuppressWarnings("EmptyCatch") // a JRE without the module, a system without the signal, a JVM that handles none
    private static void leaveSignalsToOwner() {
        for (String name : List.of("HUP", "INT", "TERM")) {
            try {
                Class<?> type = Class.forName("sun.misc.Signal");
                Class<?> handler = Class.forName("sun.misc.SignalHandler");
                Object signal = type.getConstructor(String.class).newInstance(name);
                Object ignore = handler.getField("SIG_IGN").get(null);
                type.getMethod("handle", type, handler).invoke(null, signal, ignore);
            } catch (ReflectiveOperationException e) {
                // It ends with the signal, as any JVM does.
            }
        }
    }

    /** Loads and links the classes that reading a queue needs, while the owner has yet to make its first call. */
    private static void startWarmUp(String directory) {
        Thread thread = new Thread(() -> warmUp(directory), "mmapqueue-warm-up");
        thread.setDaemon(true);
        thread.start();
    }

    @SuppressWarnings("EmptyCatch") // the owner's own call reports it
    private static void warmUp(String directory) {
        try {
            QueueHandle handle =
                    Bridge.open(String.join(Bridge.SEPARATOR, "queue_dir", directory, "read_only", "true"));
            try {
                handle.config();
                handle.consumerStats();
                handle.stats();
            } finally {
                handle.close();
            }
        } catch (RuntimeException | LinkageError e) {
            // Nothing was changed.
        }
    }

    private static void haltAfter(CountDownLatch ownerEnded, Duration grace) {
        awaitUninterruptibly(ownerEnded);
        long end = System.nanoTime() + grace.toNanos();
        for (long left = grace.toNanos(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
            Thread.interrupted();
        }
        Runtime.getRuntime().halt(1);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        while (true) {
            try {
                if (latch.await(Long.MAX_VALUE, TimeUnit.NANOSECONDS)) {
                    return;
                }
            } catch (InterruptedException e) {
                // A stray interrupt does not end the wait.
            }
        }
    }
}
