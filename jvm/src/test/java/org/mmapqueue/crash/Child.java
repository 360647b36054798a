package org.mmapqueue.crash;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Another JVM, told what to do by one line, whose journal is read while it runs; then it is killed. */
final class Child implements AutoCloseable {
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final int PATIENCE_SECONDS = 60;

    /** Tells the children of one run from one another. */
    final int serial = COUNT.incrementAndGet();

    private final Process process;
    private final Path errors;
    private final Thread reading;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    Child(Class<?> main) throws IOException {
        errors = Files.createTempFile("mmapqueue-crash-", ".err");
        process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xshare:auto",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Xmx192m",
                        "-XX:-UsePerfData",
                        "-XX:+ErrorFileToStderr",
                        "-XX:-CreateCoredumpOnCrash",
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName())
                .redirectError(errors.toFile())
                .start();
        // All the time, or the pipe fills up, and nothing is killed in the middle of work.
        reading = new Thread(this::read, "journal-" + process.pid());
        reading.setDaemon(true);
        reading.start();
    }

    private void read() {
        byte[] buffer = new byte[1 << 16];
        try (InputStream input = process.getInputStream()) {
            for (int count = input.read(buffer); count > 0; count = input.read(buffer)) {
                synchronized (said) {
                    said.write(buffer, 0, count);
                    said.notifyAll();
                }
            }
        } catch (IOException e) {
            // The end of a pipe whose process is gone.
        }
    }

    /** Returns when it waits for its orders. */
    void awaitReady() throws InterruptedException {
        awaitBytes(1, TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
    }

    /** Waits until it has begun calls of this kind so many times, has ended, or the time is over. */
    void awaitBegun(Event.Kind kind, int times, long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        long seen = 0;
        int count = 0;
        int at = 0;
        while (count < times && reading.isAlive() && deadline - System.nanoTime() > 0) {
            seen = awaitBytes(seen + 1, Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
            ByteBuffer news;
            synchronized (said) {
                news = ByteBuffer.wrap(said.toByteArray()).position(at);
            }
            for (Event event = Event.next(news); event != null; event = Event.next(news)) {
                at = news.position();
                count += event.kind() == kind && event.phase() == Event.Phase.BEGIN ? 1 : 0;
            }
        }
    }

    /** Waits until it has said so much, has ended, or the time is over; returns what it has said. */
    long awaitBytes(long count, long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        synchronized (said) {
            while (said.size() < count && reading.isAlive()) {
                long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (left <= 0) {
                    break;
                }
                said.wait(Math.min(left, 20));
            }
            return said.size();
        }
    }

    void order(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    /** SIGKILL; false when it had ended by itself. */
    boolean kill() throws InterruptedException {
        boolean alive = process.isAlive();
        // Process.destroyForcibly closes the pipes, too.
        process.toHandle().destroyForcibly();
        awaitEnd();
        return alive;
    }

    /** Returns when it has ended; its exit status. */
    int awaitEnd() throws InterruptedException {
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            throw new CrashError("process " + process.pid() + " does not end");
        }
        reading.join();
        return process.exitValue();
    }

    /** All that it said, once it has ended. */
    List<Event> events() {
        return Event.all(said.toByteArray());
    }

    /** Its standard error. */
    String errors() throws IOException {
        return Files.readString(errors);
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        Files.deleteIfExists(errors);
    }
}
