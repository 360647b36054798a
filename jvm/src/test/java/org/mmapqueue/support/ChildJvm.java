package org.mmapqueue.support;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Another JVM with the class path of the tests, talked to by lines. */
public final class ChildJvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    public ChildJvm(Class<?> main, Object... arguments) throws IOException {
        this("-XX:TieredStopAtLevel=1", main, arguments);
    }

    private ChildJvm(String mode, Class<?> main, Object... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                mode,
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        this.process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        this.output = process.inputReader(StandardCharsets.US_ASCII);
    }

    /** One that interprets all bytecode, so that a fault in a mapping is raised where it is met. */
    public static ChildJvm interpreting(Class<?> main, Object... arguments) throws IOException {
        return new ChildJvm("-Xint", main, arguments);
    }

    public long pid() {
        return process.pid();
    }

    /** The next line it says; null when it has ended. */
    public String line() throws IOException {
        return output.readLine();
    }

    public String expect(String start) throws IOException {
        String line = line();
        if (line == null || !line.startsWith(start)) {
            throw new AssertionError("expected a line that begins with " + start + ", but got " + line);
        }
        return line.substring(start.length()).trim();
    }

    public void say(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        process.getOutputStream().flush();
    }

    /** SIGKILL. What it has said can still be read. */
    public void kill() throws InterruptedException {
        // Process.destroyForcibly closes the pipes, too.
        process.toHandle().destroyForcibly();
        exitCode();
    }

    public int exitCode() throws InterruptedException {
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            throw new AssertionError("process " + pid() + " does not end");
        }
        return process.exitValue();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
