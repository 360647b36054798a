package org.mmapqueue.spark.common;

import java.net.URI;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Options as they were given to Spark, read by type. An error names the option, its value and what is allowed. Case and
 * underscores do not count in names: {@code segmentSize} is {@code segment_size}. Immutable.
 */
public final class Options {
    /** Where the queue lies. */
    public static final String PATH = "path";
    /** How many partitions it is to have. */
    public static final String PARTITIONS = "partitions";
    /** What a partition holds, in bytes; stands for queue_capacity_segments. */
    public static final String CAPACITY = "capacity";

    /** As they were given, by name; null values are left out. */
    private final Map<String, String> values;
    /** The given name by the plain one. */
    private final Map<String, String> names = new HashMap<>();

    /**
     * Options to be read.
     *
     * @param values as Spark hands them over
     * @throws IllegalArgumentException when one is given twice, in two spellings and with two values
     */
    public Options(Map<String, String> values) {
        this.values = new TreeMap<>();
        new TreeMap<>(values).forEach((name, value) -> {
            if (value != null) {
                add(name, value);
            }
        });
    }

    /**
     * Options to be read.
     *
     * @param values as Spark hands them over
     * @throws IllegalArgumentException when one is given twice, in two spellings and with two values
     */
    public Options(CaseInsensitiveStringMap values) {
        this(values.asCaseSensitiveMap());
    }

    private void add(String name, String value) {
        String before = names.put(plain(name), name);
        if (before != null) {
            String other = values.remove(before);
            if (!other.strip().equals(value.strip())) {
                throw new IllegalArgumentException("options " + before + " = " + other + " and " + name + " = " + value
                        + " are one option; allowed: one of them");
            }
        }
        values.put(name, value);
    }

    /**
     * What is left of a name when neither case nor underscores count.
     *
     * @param name in any spelling
     * @return the same for all spellings
     */
    public static String plain(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }

    /**
     * These and others; of one that both have, this value counts.
     *
     * @param defaults count where these say nothing
     * @return both
     */
    public Options over(Options defaults) {
        Map<String, String> all = new HashMap<>(values);
        defaults.values.forEach((name, value) -> {
            if (!isSet(name)) {
                all.put(name, value);
            }
        });
        return new Options(all);
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
        String text = value(PATH);
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
        return value(name) != null;
    }

    private String value(String name) {
        String given = names.get(plain(name));
        return given == null ? null : values.get(given);
    }

    /**
     * An option's text.
     *
     * @param name its name
     * @param missing what counts when it is not given
     * @return the value without white space around it
     */
    public String text(String name, String missing) {
        String value = value(name);
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
        int shift = lower.equals(digits) ? 0 : 10 * "bkmgt".indexOf(lower.charAt(digits.length()));
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
     * A time, as Spark takes it: "15 minutes", "90s", a bare number of ms.
     *
     * @param name the option's name
     * @param missing when it is not given
     * @return at least 0
     * @throws IllegalArgumentException when it is none
     */
    public Duration duration(String name, Duration missing) {
        String text = text(name, null);
        return text == null ? missing : Durations.parse(text).orElseThrow(() -> bad(name, text, Durations.ALLOWED));
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
     * Their names.
     *
     * @return as they were given, in alphabetical order
     */
    public Set<String> names() {
        return new TreeSet<>(values.keySet());
    }

    /**
     * All of them.
     *
     * @return values by name, as they were given
     */
    public Map<String, String> all() {
        return Map.copyOf(values);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Options options && values.equals(options.values);
    }

    @Override
    public int hashCode() {
        return values.hashCode();
    }
}
