package org.mmapqueue.archive.files;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.mmapqueue.errors.ArchiveException;

/**
 * The small files of an archive: properties in UTF-8, sorted by key. The last line has the CRC32C of all bytes before
 * it, so that damage is an error that names the file, and never a value.
 */
public final class ArchiveText {
    private static final int MOST_BYTES = 16 << 20;
    private static final String CHECKSUM = "checksum=";
    private static final int CHECKSUM_LINE = CHECKSUM.length() + 9;

    private final String file;
    private final Properties values;

    private ArchiveText(String file, Properties values) {
        this.file = file;
        this.values = values;
    }

    /** The bytes of a file. Characters beyond ASCII are stored as {@code \}{@code uXXXX}. */
    public static byte[] encode(Map<String, String> values) {
        Properties properties = new Properties();
        properties.putAll(values);
        StringWriter text = new StringWriter();
        try {
            properties.store(text, null);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a write to memory does not fail
        }
        // Drops the comment of Properties, which is a date.
        String lines = text.toString()
                .lines()
                .filter(line -> !line.startsWith("#"))
                .sorted()
                .collect(Collectors.joining("\n", "", "\n"));
        return (lines + checksumLine(lines)).getBytes(StandardCharsets.UTF_8);
    }

    private static String checksumLine(String lines) {
        CRC32C crc = new CRC32C();
        crc.update(lines.getBytes(StandardCharsets.UTF_8));
        return String.format(Locale.ROOT, "%s%08x\n", CHECKSUM, crc.getValue());
    }

    /**
     * Reads a file; empty if it does not exist.
     *
     * @throws ArchiveException if the file is damaged
     */
    public static Optional<ArchiveText> read(ArchiveFiles files, String file) throws IOException {
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
        String text = new String(bytes, StandardCharsets.UTF_8);
        int end = Math.max(0, text.length() - CHECKSUM_LINE);
        String lines = text.substring(0, end);
        if (!text.substring(end).equals(checksumLine(lines))) {
            throw new ArchiveException(
                    files.uri() + file + " is damaged: " + bytes.length + " bytes that do not end with their checksum");
        }
        Properties values = new Properties();
        try {
            values.load(new StringReader(lines));
        } catch (IllegalArgumentException e) {
            throw new ArchiveException(files.uri() + file + " is not a file of properties: " + e.getMessage(), e);
        }
        return Optional.of(new ArchiveText(files.uri() + file, values));
    }

    /** The file, for messages. */
    public String file() {
        return file;
    }

    /** The keys. */
    public Iterable<String> keys() {
        return values.stringPropertyNames();
    }

    /** A value that may be missing. */
    public Optional<String> find(String key) {
        return Optional.ofNullable(values.getProperty(key));
    }

    /** A value that must exist. */
    public String get(String key) {
        String value = values.getProperty(key);
        if (value == null) {
            throw new ArchiveException(file + " has no " + key);
        }
        return value;
    }

    /** A value that must exist, converted. */
    public <T> T get(String key, Function<String, T> convert) {
        String value = get(key);
        try {
            return convert.apply(value);
        } catch (RuntimeException e) {
            throw new ArchiveException(file + ": " + key + " = " + value + ": " + e.getMessage(), e);
        }
    }
}
