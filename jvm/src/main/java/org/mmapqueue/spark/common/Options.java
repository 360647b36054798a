package org.mmapqueue.spark.common;

import java.net.URI;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Path;
import java.util.Locale;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Options as they were given to Spark, read by type. What is wrong is told by name, value and what is allowed. */
public final class Options {
    /** Where the queue lies. */
    public static final String PATH = "path";
    /** How many partitions it is to have. */
    public static final String PARTITIONS = "partitions";
    /** What a partition holds, in bytes; stands for queue_capacity_segments. */
    public static final String CAPACITY = "capacity";

    private final CaseInsensitiveStringMap values;

    /**
     * Options to be read.
     *
     * @param values as Spark hands them over
     */
    public Options(CaseInsensitiveStringMap values) {
        this.values = values;
    }

    /**
     * What to say of an option that is wrong.
     *
     * @param name its name
     * @param value its value
     * @param allowed what would be right
     * @return to be thrown
     */
    public static IllegalArgumentException bad(String name, String value, String allowed) {
        return new IllegalArgumentException("option " + name + " = " + value + "; allowed: " + allowed);
    }

    /**
     * The queue's directory.
     *
     * @return an absolute path
     * @throws IllegalArgumentException when it is missing, or not on a local file system
     */
    public Path path() {
        String text = values.get(PATH);
        if (text == null || text.isEmpty()) {
            throw bad(PATH, String.valueOf(text), "the directory of a queue");
        }
        try {
            Path path = text.matches("[A-Za-z][A-Za-z0-9+.-]*:.*") ? Path.of(URI.create(text)) : Path.of(text);
            return path.toAbsolutePath().normalize();
        } catch (FileSystemNotFoundException | IllegalArgumentException e) {
            throw bad(PATH, text, "a directory of a local file system, as a path or file: URI");
        }
    }

    /**
     * Whether an option is given.
     *
     * @param name its name
     * @return whether there is a value
     */
    public boolean isSet(String name) {
        return values.get(name) != null;
    }

    /**
     * An option's text.
     *
     * @param name its name
     * @param missing what counts when it is not given
     * @return the value without white space around it
     */
    public String text(String name, String missing) {
        String value = values.get(name);
        return value == null ? missing : value.strip();
    }

    /**
     * A whole number.
     *
     * @param name the option's name
     * @param missing what counts when it is not given
     * @param least the least one that is allowed
     * @return the number
     * @throws IllegalArgumentException when it is none, or less
     */
    public long number(String name, long missing, long least) {
        String text = text(name, null);
        if (text == null) {
            return missing;
        }
        try {
            long number = Long.parseLong(text);
            if (number >= least) {
                return number;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw bad(name, text, "a whole number of at least " + least);
    }

    /**
     * A size.
     *
     * @param name the option's name
     * @param missing bytes, when it is not given
     * @return bytes
     * @throws IllegalArgumentException when it is not a number of bytes of at least 1, with k, m or g behind it or not
     */
    public long bytes(String name, long missing) {
        String text = text(name, null);
        if (text == null) {
            return missing;
        }
        String lower = text.toLowerCase(Locale.ROOT);
        String digits = lower.replaceFirst("(?:([kmgt])i?b?|b)$", "");
        int shift = lower.equals(digits) ? 0 : 10 * ("bkmgt".indexOf(lower.charAt(digits.length())));
        try {
            long number = Math.multiplyExact(Long.parseLong(digits), 1L << shift);
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException | ArithmeticException e) {
            // said below
        }
        throw bad(name, text, "a number of bytes of at least 1, such as 1048576 or 1m");
    }

    /**
     * A switch.
     *
     * @param name the option's name
     * @param missing what counts when it is not given
     * @return whether it is on
     * @throws IllegalArgumentException when it is neither true nor false
     */
    public boolean flag(String name, boolean missing) {
        String text = text(name, null);
        if (text == null) {
            return missing;
        }
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw bad(name, text, "true, false");
        };
    }

    /**
     * All of them.
     *
     * @return as Spark hands them over
     */
    public CaseInsensitiveStringMap all() {
        return values;
    }
}
