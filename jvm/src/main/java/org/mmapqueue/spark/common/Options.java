package org.mmapqueue.spark.common;

import java.net.URI;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.config.Sizes;

/**
 * Typed access to the options given to Spark. An error names the option, its value and the allowed values. Names ignore
 * case and underscores: {@code segmentSize} is {@code segment_size}. Immutable.
 */
public final class Options {
    /** The queue's directory. */
    public static final String PATH = "path";
    /** The number of partitions. */
    public static final String PARTITIONS = "partitions";

    /** Of two options that say the same, the other one, by normalized name. */
    private static final Map<String, String> INSTEAD = Map.of(
            "startingoffsets", "startingTimestamp",
            "startingtimestamp", "startingOffsets",
            "endingoffsets", "endingTimestamp",
            "endingtimestamp", "endingOffsets");

    /** The options by given name, without null values. */
    private final Map<String, String> values;
    /** The given name by normalized name. */
    private final Map<String, String> names = new HashMap<>();

    /**
     * Wraps Spark's options.
     *
     * @param values as Spark passes them
     * @throws IllegalArgumentException if an option is given in two spellings with two values
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
     * Wraps Spark's options.
     *
     * @param values as Spark passes them
     * @throws IllegalArgumentException if an option is given in two spellings with two values
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
                        + " are the same option; allowed: one of them");
            }
        }
        values.put(name, value);
    }

    /**
     * Normalizes a name: without underscores, in lower case.
     *
     * @param name in any spelling
     * @return the same for all spellings
     */
    public static String plain(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }

    /**
     * Merges options with defaults; these options take precedence, also over defaults that they take the place of.
     *
     * @param defaults values for options that are not given
     * @return the merged options
     */
    public Options over(Options defaults) {
        Map<String, String> all = new HashMap<>(values);
        defaults.values.forEach((name, value) -> {
            String other = INSTEAD.get(plain(name));
            if (!isSet(name) && (other == null || !isSet(other))) {
                all.put(name, value);
            }
        });
        return new Options(all);
    }

    /**
     * Leaves options out.
     *
     * @param names their names, in any spelling
     * @return the other options
     */
    public Options without(Collection<String> names) {
        List<String> plain = names.stream().map(Options::plain).toList();
        Map<String, String> others = new HashMap<>(values);
        others.keySet().removeIf(name -> plain.contains(plain(name)));
        return new Options(others);
    }

    /**
     * Makes the error for an invalid option.
     *
     * @param name the option's name
     * @param value the option's value
     * @param allowed the allowed values
     * @return the exception to throw
     */
    public static IllegalArgumentException bad(String name, String value, String allowed) {
        return new IllegalArgumentException("option " + name + " = " + value + "; allowed: " + allowed);
    }

    /**
     * Whether a path is a URI.
     *
     * @param path as given
     * @return whether it begins with a scheme
     */
    public static boolean isUri(String path) {
        return path.matches("[A-Za-z][A-Za-z0-9+.-]*:.*");
    }

    /**
     * The directory of a local queue.
     *
     * @return an absolute path
     * @throws IllegalArgumentException if the path is missing, or not on a local file system
     */
    public Path path() {
        String text = value(PATH);
        if (text == null || text.isEmpty()) {
            throw bad(PATH, String.valueOf(text), "the directory of a queue");
        }
        try {
            Path path = isUri(text) ? Path.of(URI.create(text)) : Path.of(text);
            return path.toAbsolutePath().normalize();
        } catch (FileSystemNotFoundException | IllegalArgumentException e) {
            throw bad(PATH, text, "a directory of a local file system, as a path or a file: URI");
        }
    }

    /**
     * Whether an option is given.
     *
     * @param name the option's name
     * @return whether the option has a value
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
     * @param name the option's name
     * @param missing the default
     * @return the value, trimmed
     */
    public String text(String name, String missing) {
        String value = value(name);
        return value == null ? missing : value.strip();
    }

    /**
     * An option's integer.
     *
     * @param name the option's name
     * @param missing the default
     * @param least the smallest allowed value
     * @return the value
     * @throws IllegalArgumentException if the value is not an integer, or too small
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
            // reported below
        }
        throw bad(name, text, "a whole number of at least " + least);
    }

    /**
     * An option's size in bytes.
     *
     * @param name the option's name
     * @param missing the default, in bytes
     * @return the size in bytes, at least 1
     * @throws IllegalArgumentException if the value is not a size, or 0
     */
    public long bytes(String name, long missing) {
        String text = text(name, null);
        if (text == null) {
            return missing;
        }
        long bytes = Sizes.parse(text).orElse(0);
        if (bytes > 0) {
            return bytes;
        }
        throw bad(name, text, "a number of bytes of at least 1, such as 1048576 or 1m");
    }

    /**
     * An option's duration, with units: "15 minutes", "90s", "1h 30m", 0.
     *
     * @param name the option's name
     * @param missing the default
     * @return at least 0
     * @throws IllegalArgumentException if the value is not a duration
     */
    public Duration duration(String name, Duration missing) {
        String text = text(name, null);
        return text == null ? missing : Durations.parse(text).orElseThrow(() -> bad(name, text, allowed(text)));
    }

    private static String allowed(String text) {
        return text.matches("[0-9.]+") ? text + "s or " + text + "ms, " + Durations.ALLOWED : Durations.ALLOWED;
    }

    /**
     * An option's duration in ms, rounded up.
     *
     * @param name the option's name
     * @param missing the default
     * @return at least 0
     * @throws IllegalArgumentException if the value is not a duration
     */
    public long millis(String name, Duration missing) {
        Duration duration = duration(name, missing);
        long millis = duration.toMillis();
        boolean isWhole = millis == Long.MAX_VALUE || duration.equals(Duration.ofMillis(millis));
        return isWhole ? millis : millis + 1;
    }

    /**
     * An option's boolean.
     *
     * @param name the option's name
     * @param missing the default
     * @return the value
     * @throws IllegalArgumentException if the value is neither true nor false
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
     * The names of all options.
     *
     * @return the given names, in alphabetical order
     */
    public Set<String> names() {
        return new TreeSet<>(values.keySet());
    }

    /**
     * All options.
     *
     * @return values by given name
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
