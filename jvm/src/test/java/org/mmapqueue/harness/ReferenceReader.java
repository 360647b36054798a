package org.mmapqueue.harness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.zip.CRC32C;
import org.mmapqueue.Message;
import org.mmapqueue.support.Json;

/**
 * Asks {@code docs/reference/reader.py} what a queue's directory holds: a second opinion, since the reader follows the page
 * of the format alone. One process of Python answers all tests of a JVM. Without python3 there is no second opinion.
 */
public final class ReferenceReader {
    /** Started with the first question. */
    private static final class Shared {
        private static final Optional<ReferenceReader> READER = start();
    }

    private final OutputStream directories;
    private final BufferedReader answers;

    private ReferenceReader(Process process) {
        directories = process.getOutputStream();
        answers = process.inputReader(StandardCharsets.UTF_8);
    }

    /**
     * What the reader has found.
     *
     * @param records each record's offset, timestamp (0 if it has none), length and CRC32C, from the log start on
     * @param end the log end, as an offset
     * @param consumers the offset from which each consumer needs the log
     * @param error null if all could be verified
     */
    public record Found(List<String> records, long end, Map<String, Long> consumers, String error) {
        /**
         * Compares the records with those of the library.
         *
         * @param first the library's log start
         * @param last the library's log end
         * @param get returns records from an offset on
         * @throws Violation if the two differ
         */
        public void check(String when, long first, long last, LongFunction<List<Message>> get) {
            Violation.unless(error == null, "%s, the reference reader fails: %s", when, error);
            Violation.unless(end == last, "%s, the log ends at %d, for the reference reader at %d", when, last, end);
            List<String> expected = new ArrayList<>();
            while (first + expected.size() < last) {
                get.apply(first + expected.size()).forEach(message -> expected.add(line(message)));
            }
            List<String> found = records.subList(Math.max(0, records.size() - expected.size()), records.size());
            Violation.unless(
                    found.equals(expected), "%s, records are\n%s\nfor the reference reader\n%s", when, expected, found);
        }

        /**
         * Checks that a repair has kept each of these records.
         *
         * @throws Violation if it has lost or changed one
         */
        public void checkKept(Found repaired) {
            Violation.unless(
                    repaired.error() == null, "after a repair, the reference reader fails: %s", repaired.error());
            Set<String> kept = new HashSet<>(repaired.records());
            List<String> gone =
                    records.stream().filter(each -> !kept.contains(each)).toList();
            Violation.unless(gone.isEmpty(), "a repair has lost or changed intact records: %s", gone);
        }

        /** The offset of the first record; the log end if there is none. */
        public long first() {
            return records.isEmpty() ? end : Long.parseLong(records.get(0).split(" ", 2)[0]);
        }

        private static String line(Message message) {
            CRC32C crc = new CRC32C();
            crc.update(message.data(), 0, message.data().length);
            return message.offset() + " " + message.timestampMicros() + " " + message.data().length + " "
                    + crc.getValue();
        }
    }

    /** Reads a directory that no process changes; empty without python3. */
    public static Optional<Found> read(Path directory) {
        return Shared.READER.map(reader -> reader.ask(directory.toString()));
    }

    /**
     * Reads the intact records of a damaged directory; empty without python3, or if the reader cannot find the log start.
     */
    public static Optional<Found> readIntact(Path directory) {
        return Shared.READER.map(reader -> reader.ask("--skip " + directory)).filter(found -> found.error() == null);
    }

    private static Optional<ReferenceReader> start() {
        try {
            // It ends when its input does, with this process.
            return Optional.of(new ReferenceReader(new ProcessBuilder("python3", "tests/reference_reader.py")
                    .redirectError(Redirect.INHERIT)
                    .start()));
        } catch (IOException e) {
            System.out.println("no second opinion on the format: " + e.getMessage());
            return Optional.empty();
        }
    }

    @SuppressWarnings("unchecked") // the program's own answers
    private synchronized Found ask(String question) {
        try {
            directories.write((question + "\n").getBytes(StandardCharsets.UTF_8));
            directories.flush();
            String answer = answers.readLine();
            if (answer == null) {
                throw new IllegalStateException("tests/reference_reader.py has ended");
            }
            Map<String, Object> found = (Map<String, Object>) Json.parse(answer);
            String error = (String) found.get("error");
            return error != null
                    ? new Found(List.of(), 0, Map.of(), error)
                    : new Found(
                            (List<String>) found.get("records"),
                            (long) found.get("end"),
                            (Map<String, Long>) found.get("consumers"),
                            null);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
