package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs main classes in JVMs of their own. */
public final class BenchChild {
    private BenchChild() {}

    /**
     * Runs a main class with this class path and waits for its end. Its output goes to the output of this JVM.
     *
     * @throws IllegalStateException if its exit status is not 0
     */
    public static void run(Class<?> main, List<String> flags, List<String> arguments) throws IOException {
        run(System.getProperty("java.class.path"), main, flags, arguments);
    }

    /** Runs a main class with another class path. */
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

    /** Starts a main class. This JVM reads its output; its errors go to the errors of this JVM. */
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
