package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.ChildJvm;

/**
 * A process without options for the JVM: segments are unmapped while it runs, and the JDK warns of nothing, also where
 * the modules leave only one way to unmap.
 */
@Timeout(120)
class PlainRunTest {
    @TempDir
    Path temp;

    private List<String> run(String... options) throws Exception {
        Path log = Files.writeString(temp.resolve("logging.properties"), "handlers = \n.level = OFF\n");
        Path errors = temp.resolve("errors");
        List<String> all = new ArrayList<>(List.of(options));
        all.add("-Djava.util.logging.config.file=" + log);
        List<String> lines = new ArrayList<>();
        try (ChildJvm child = new ChildJvm(all, Redirect.to(errors.toFile()), PlainRun.class, temp.resolve("queue"))) {
            for (String line = child.line(); line != null; line = child.line()) {
                lines.add(line);
            }
            assertEquals(0, child.exitCode(), () -> text(errors));
        }
        assertEquals("", text(errors).replaceAll("(?m)^Picked up JAVA_TOOL_OPTIONS.*\\R", ""));
        return lines;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void check(List<String> lines) {
        assertEquals(3, lines.size(), lines.toString());
        assertEquals("lag 0", lines.get(0));
        long most = Long.parseLong(lines.get(1).substring("most ".length()));
        assertTrue(most >= 1 && most <= PlainRun.MAPPED, lines.toString());
        assertEquals("left 0", lines.get(2));
    }

    @Test
    void segmentsAreUnmappedAndNothingIsPrinted() throws Exception {
        check(run());
    }

    /** Then {@code sun.misc.Unsafe} is missing, as in a runtime that was linked without it. */
    @Test
    void withoutJdkUnsupportedThereIsAnotherWayFromJava22On() throws Exception {
        List<String> lines = run("--limit-modules=java.base,java.logging,java.management");
        if (Runtime.version().feature() < 22) {
            assertEquals(1, lines.size(), lines.toString());
            assertTrue(
                    lines.get(0).contains("without the module jdk.unsupported cannot unmap files"), lines.toString());
        } else {
            check(lines);
        }
    }
}
