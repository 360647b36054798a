package org.mmapqueue.harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Arguments of a main program, by position. Missing and empty ones have defaults. */
public record Arguments(String... values) {
    public boolean has(int index) {
        return index < values.length && !values[index].isEmpty();
    }

    public String text(int index, String otherwise) {
        return has(index) ? values[index] : otherwise;
    }

    public long number(int index, long otherwise) {
        return has(index) ? Long.parseLong(values[index]) : otherwise;
    }

    public int count(int index, int otherwise) {
        return Math.toIntExact(number(index, otherwise));
    }

    /** A seed; by default one of the clock, which the program must print. */
    public long seed(int index) {
        return number(index, System.nanoTime() & 0xFFFFFF);
    }

    /** A new directory in the one that is named, by default in that of temporary files. */
    public Path tempDirectory(int index, String prefix) throws IOException {
        return Files.createTempDirectory(Path.of(text(index, System.getProperty("java.io.tmpdir"))), prefix);
    }
}
