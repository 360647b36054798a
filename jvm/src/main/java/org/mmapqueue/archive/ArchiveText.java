package org.mmapqueue.archive;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.errors.ArchiveException;

/** The small files of an archive: properties in UTF-8, sorted by key. */
final class ArchiveText {
    private static final int MOST_BYTES = 16 << 20;

    private final String file;
    private final Properties values;

    private ArchiveText(String file, Properties values) {
        this.file = file;
        this.values = values;
    }

    /** The bytes of a file. Characters beyond ASCII are stored as {@code \}{@code uXXXX}. */
    static byte[] encode(Map<String, String> values) {
        Properties properties = new Properties();
        properties.putAll(values);
        StringWriter text = new StringWriter();
        try {
            properties.store(text, null);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a write to memory does not fail
        }
        // Drops the comment of Properties, which is a date.
        return text.toString()
                .lines()
                .filter(line -> !line.startsWith("#"))
                .sorted()
                .collect(Collectors.joining("\n", "", "\n"))
                .getBytes(StandardCharsets.UTF_8);
    }

    /** Reads a file; empty if it does not exist. */
    static Optional<ArchiveText> read(ArchiveFiles files, String file) throws IOException {
        byte[] bytes;
        try (ArchiveFiles.Input input = files.open(file)) {
            if (input.length() > MOST_BYTES) {
                throw new ArchiveException(
                        files.uri() + file + " has " + input.length() + " bytes; expected at most " + MOST_BYTES);
            }
            bytes = new byte[(int) input.length()];
            input.readFully(0, bytes, 0, bytes.length);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        Properties values = new Properties();
        try {
            values.load(new StringReader(new String(bytes, StandardCharsets.UTF_8)));
        } catch (IllegalArgumentException e) {
            throw new ArchiveException(files.uri() + file + " is no file of properties: " + e.getMessage(), e);
        }
        return Optional.of(new ArchiveText(files.uri() + file, values));
    }

    /** The file, for messages. */
    String file() {
        return file;
    }

    /** The keys. */
    Iterable<String> keys() {
        return values.stringPropertyNames();
    }

    /** A value that must exist. */
    String get(String key) {
        String value = values.getProperty(key);
        if (value == null) {
            throw new ArchiveException(file + " has no " + key);
        }
        return value;
    }

    /** A value that must exist, converted. */
    <T> T get(String key, Function<String, T> convert) {
        String value = get(key);
        try {
            return convert.apply(value);
        } catch (RuntimeException e) {
            throw new ArchiveException(file + ": " + key + " = " + value + ": " + e.getMessage(), e);
        }
    }
}
