package org.mmapqueue.crash;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.mmapqueue.support.ChildJvm;

/** A child JVM that receives one line of orders. Its journal is read while it runs; then it is killed, or halts. */
final class WorkerProcess implements AutoCloseable {
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final int START_SECONDS = 60;
    private static final List<String> OPTIONS = List.of(
            "-Xshare:auto",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx192m",
            "-XX:-UsePerfData",
            "-XX:+ErrorFileToStderr",
            "-XX:-CreateCoredumpOnCrash");

    /** Identifies the process within one run. */
    final int serial = COUNT.incrementAndGet();

    private final ChildJvm process;
    private final Path errors;
    private final Thread reading;
    private final ByteArrayOutputStream journal = new ByteArrayOutputStream();

    WorkerProcess(Class<?> main) throws IOException {
        errors = Files.createTempFile("mmapqueue-crash-", ".err");
        process = new ChildJvm(OPTIONS, ProcessBuilder.Redirect.to(errors.toFile()), main);
        // Always reading: a process that waits for a full pipe is not killed in the middle of a call.
        reading = new Thread(this::read, "journal-" + process.pid());
        reading.setDaemon(true);
        reading.start();
    }

    private void read() {
        byte[] buffer = new byte[1 << 16];
        try (InputStream input = process.output()) {
            for (int count = input.read(buffer); count > 0; count = input.read(buffer)) {
                synchronized (journal) {
                    journal.write(buffer, 0, count);
                    journal.notifyAll();
                }
            }
        } catch (IOException e) {
            // The pipe of a process that has ended.
        }
    }

    /** Returns when the process waits for its orders. */
    void awaitReady() throws InterruptedException {
        awaitBytes(1, TimeUnit.SECONDS.toMillis(START_SECONDS));
    }

    /** Waits until this many calls of a kind have begun, the process has ended, or the time is over. */
    void awaitBegun(Event.Kind kind, int calls, long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        long seen = 0;
        int count = 0;
        int position = 0;
        while (count < calls && reading.isAlive() && deadline - System.nanoTime() > 0) {
            seen = awaitBytes(seen + 1, Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
            ByteBuffer news;
            synchronized (journal) {
                news = ByteBuffer.wrap(journal.toByteArray()).position(position);
            }
            for (Event event = Event.next(news); event != null; event = Event.next(news)) {
                position = news.position();
                count += event.kind() == kind && event.phase() == Event.Phase.BEGIN ? 1 : 0;
            }
        }
    }

    /** Waits for this much journal, the end, or the time limit; returns the length of the journal. */
    long awaitBytes(long count, long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        synchronized (journal) {
            while (journal.size() < count && reading.isAlive()) {
                long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (left <= 0) {
                    break;
                }
                journal.wait(Math.min(left, 20));
            }
            return journal.size();
        }
    }

    void order(String line) throws IOException {
        process.say(line);
    }

    /** Sends SIGKILL; false if the process had already ended. */
    boolean kill() throws InterruptedException {
        boolean alive = process.isAlive();
        process.kill();
        reading.join();
        return alive;
    }

    /** Waits for the end; returns the exit status. */
    int awaitEnd() throws InterruptedException {
        int status = process.exitCode();
        reading.join();
        return status;
    }

    /** The whole journal, after the end. */
    List<Event> events() {
        return Event.all(journal.toByteArray());
    }

    /** The standard error. */
    String errors() throws IOException {
        return Files.readString(errors);
    }

    @Override
    public void close() throws IOException {
        process.close();
        Files.deleteIfExists(errors);
    }
}
