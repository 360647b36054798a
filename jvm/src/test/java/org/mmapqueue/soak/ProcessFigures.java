package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Resources of a process, from /proc. They are exact if the process is stopped.
 *
 * @param segments bytes of mapped segments of a queue
 * @param pages bytes of mapped other files of the queue
 * @param descriptors open files
 * @param threads threads
 */
record ProcessFigures(long segments, long pages, long descriptors, long threads) {
    private static final Path PROC = Path.of("/proc");
    /** The kernel appends this to the name of a mapped file that was deleted. */
    private static final String DELETED = " (deleted)";

    static boolean isAvailable() {
        return Files.isReadable(PROC.resolve("self/maps"));
    }

    /** The figures of a process with a queue in this directory. */
    static ProcessFigures of(long pid, Path directory) throws IOException {
        Path process = PROC.resolve(Long.toString(pid));
        List<String> maps = Files.readAllLines(process.resolve("maps"));
        long all = mapped(maps, directory + "/", "");
        long segments = mapped(maps, directory + "/", "_segment.dat");
        return new ProcessFigures(
                segments, all - segments, count(process.resolve("fd")), count(process.resolve("task")));
    }

    /** Lines look like {@code 7f00-7f80 rw-s 00000000 fe:00 4711    /queue/0_segment.dat}. */
    static long mapped(List<String> maps, String directory, String suffix) {
        long sum = 0;
        for (String line : maps) {
            if (line.contains(" " + directory) && (line + DELETED).contains(suffix + DELETED)) {
                String[] range = line.substring(0, line.indexOf(' ')).split("-");
                sum += Long.parseLong(range[1], 16) - Long.parseLong(range[0], 16);
            }
        }
        return sum;
    }

    private static long count(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.count();
        }
    }

    /** Whether a signal has stopped the process. */
    static boolean isStopped(long pid) throws IOException {
        return Files.readAllLines(PROC.resolve(Long.toString(pid)).resolve("status")).stream()
                .anyMatch(line -> line.startsWith("State:") && line.contains("T (stopped)"));
    }
}
