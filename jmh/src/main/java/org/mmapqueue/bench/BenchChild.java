package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Another JVM with the same class path. */
public final class BenchChild {
    private BenchChild() {}

    /**
     * Runs a main class and waits for its end; it writes where this JVM writes.
     *
     * @throws IllegalStateException when it fails
     */
    public static void run(Class<?> main, List<String> flags, List<String> arguments) throws IOException {
        run(System.getProperty("java.class.path"), main, flags, arguments);
    }

    /** The same with a class path of its own. */
    public static void run(String classPath, Class<?> main, List<String> flags, List<String> arguments)
            throws IOException {
        Process process = builder(classPath, main, flags, arguments).inheritIO().start();
        try {
            int code = process.waitFor();
            if (code != 0) {
                throw new IllegalStateException(main.getSimpleName() + " " + arguments + " ended with " + code);
            }
        } catch (InterruptedException e) {
            process.destroy();
            throw new IllegalStateException(e);
        }
    }

    /** Starts a main class; what it prints is for this JVM to read, its errors go where those of this JVM go. */
    public static Process start(Class<?> main, List<String> flags, List<String> arguments) throws IOException {
        return builder(System.getProperty("java.class.path"), main, flags, arguments)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static ProcessBuilder builder(String classPath, Class<?> main, List<String> flags, List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(flags);
        command.add("-cp");
        command.add(classPath);
        command.add(main.getName());
        command.addAll(arguments);
        return new ProcessBuilder(command);
    }
}
