package org.mmapqueue.support;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A child JVM with the class path of the tests. Parent and child exchange lines, or the parent reads bytes. */
public final class ChildJvm implements AutoCloseable {
    private static final int END_SECONDS = 60;

    private final Process process;

    /** A child that is compiled by C1 alone and has a heap of 256 MiB; its standard error is discarded. */
    public ChildJvm(Class<?> main, Object... arguments) throws IOException {
        this(options("-XX:TieredStopAtLevel=1"), ProcessBuilder.Redirect.DISCARD, main, arguments);
    }

    /** A child with these JVM options. */
    public ChildJvm(List<String> options, ProcessBuilder.Redirect errors, Class<?> main, Object... arguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        this.process = new ProcessBuilder(command).redirectError(errors).start();
    }

    private static List<String> options(String mode) {
        return List.of("-Xshare:auto", mode, "-XX:+UseSerialGC", "-Xmx256m");
    }

    /** A child that interprets all bytecode: a fault in a mapping then throws at the instruction that met it. */
    public static ChildJvm interpreting(Class<?> main, Object... arguments) throws IOException {
        return new ChildJvm(options("-Xint"), ProcessBuilder.Redirect.DISCARD, main, arguments);
    }

    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** The standard output, for a parent that does not read lines. */
    public InputStream output() {
        return process.getInputStream();
    }

    /** The next line of the standard output; null at its end. */
    public String line() throws IOException {
        return reader().readLine();
    }

    // Process returns the same reader each time.
    private BufferedReader reader() {
        return process.inputReader(StandardCharsets.US_ASCII);
    }

    /** The rest of the next line, which must begin with {@code start}. */
    public String expect(String start) throws IOException {
        String line = line();
        if (line == null || !line.startsWith(start)) {
            throw new AssertionError("expected a line that begins with " + start + ", but got " + line);
        }
        return line.substring(start.length()).trim();
    }

    /** Writes a line to the standard input. */
    public void say(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    /** Sends SIGKILL and waits for the end. The rest of the output can still be read. */
    public void kill() throws InterruptedException {
        // Process.destroyForcibly also closes the pipes.
        process.toHandle().destroyForcibly();
        exitCode();
    }

    /** Waits for the end, up to a minute. */
    public int exitCode() throws InterruptedException {
        if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("process " + pid() + " does not end");
        }
        return process.exitValue();
    }

    /** Kills the process, and waits for its end: it may be writing files that the test deletes next. */
    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
