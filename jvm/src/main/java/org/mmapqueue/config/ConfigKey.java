package org.mmapqueue.config;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * The configuration keys with their defaults and ranges. Six of them are Satellite's, with its names and defaults. In
 * version 2 the defaults of four keys are derived from the capacity: segment_size, queue_capacity_segments,
 * max_in_mem_segments and max_event_size.
 */
public enum ConfigKey {
    CAPACITY(Kind.SIZE, "536870912", 8192, 1L << 60),
    SEGMENT_SIZE(Kind.SIZE, "131072", 4096, 1 << 30),
    MAX_IN_MEM_SEGMENTS(Kind.NUMBER, "10", 1, 1 << 20),
    QUEUE_CAPACITY_SEGMENTS(Kind.NUMBER, "4000", 2, 1 << 30),
    FLUSH_PERIOD(Kind.MILLIS, "1000", 1, Integer.MAX_VALUE),
    FLUSH_CEILING_NUM(Kind.NUMBER, "10000", 1, Integer.MAX_VALUE),
    MAX_EVENT_SIZE(Kind.SIZE, "20480", 1, RecordDescriptor.MAX_LENGTH),
    TIMESTAMPS(Kind.WORD, "true", "true", "false"),
    FORMAT_VERSION(Kind.WORD, "2", "2", "1"),
    V1_RECOVER(Kind.WORD, "watermark", "watermark", "writing"),
    READ_ONLY(Kind.WORD, "false", "false", "true"),
    MAX_UNACKED(Kind.NUMBER, "1000000", 1, 1 << 30),
    VISIBILITY_TIMEOUT(Kind.MILLIS, "0", 0, Integer.MAX_VALUE),
    MAX_ATTEMPTS(Kind.NUMBER, "0", 0, 10_000),
    DEAD_LETTER_DIR(Kind.PATH, "", 0, 0),
    MAX_CONSUMER_LAG(Kind.SIZE, "0", 0, Long.MAX_VALUE),
    MAX_AGE(Kind.MILLIS, "0", 0, Long.MAX_VALUE / 1_000_000),
    ON_DAMAGE(Kind.WORD, "error", "error", "skip"),
    RETAIN_MS(Kind.MILLIS, "0", 0, Long.MAX_VALUE),
    RETAIN_BYTES(Kind.SIZE, "0", 0, Long.MAX_VALUE),
    GC_ON_IDLE(Kind.MILLIS, "0", 0, Integer.MAX_VALUE),
    WAIT_STRATEGY(Kind.WORD, "backoff", "backoff", "park", "spin"),
    FILE_MODE(Kind.WORD, "600", "600", "640", "644", "660", "664", "666"),
    ARCHIVE_URI(Kind.LOCATION, "", 0, 0),
    ARCHIVE_HOST(Kind.NAME, "", 0, 0),
    ARCHIVE_CODEC(Kind.WORD, "none", "none", "zstd"),
    ARCHIVE_RETAIN(Kind.MILLIS, "0", 0, Long.MAX_VALUE / 1_000_000),
    SHIP_PERIOD(Kind.MILLIS, "1000", 1, Integer.MAX_VALUE),
    SHIP_BYTES(Kind.SIZE, "8388608", 4096, 1 << 28),
    OVERFLOW(Kind.WORD, "wait", "wait", "archive");

    private static final long PAGE = 4096;
    private static final long LEAST_IN_MEM = 4;

    private enum Kind {
        SIZE,
        NUMBER,
        MILLIS,
        WORD,
        PATH,
        LOCATION,
        NAME
    }

    private final Kind kind;
    private final String defaultText;
    private final long least;
    private final long most;
    private final List<String> words;

    ConfigKey(Kind kind, String defaultText, long least, long most) {
        this.kind = kind;
        this.defaultText = defaultText;
        this.least = least;
        this.most = most;
        this.words = List.of();
    }

    ConfigKey(Kind kind, String defaultText, String... words) {
        this.kind = kind;
        this.defaultText = defaultText;
        this.least = 0;
        this.most = 0;
        this.words = List.of(words);
    }

    public static ConfigKey of(String name, String value) {
        for (ConfigKey key : values()) {
            if (key.keyName().equals(name)) {
                return key;
            }
        }
        List<String> known = Arrays.stream(values()).map(ConfigKey::keyName).toList();
        throw ConfigException.unknownKey(name, value, Similar.to(name, known));
    }

    public String keyName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether the value is a time, in ms. */
    public boolean isTime() {
        return kind == Kind.MILLIS;
    }

    public String defaultText() {
        return defaultText;
    }

    long least() {
        return least;
    }

    long most() {
        return most;
    }

    boolean allows(long number) {
        return number >= least && number <= most;
    }

    String range() {
        return switch (kind) {
            case WORD -> String.join(" or ", words);
            case PATH -> "the path of a directory";
            case LOCATION -> "the path or the URI of a directory";
            case NAME -> "a name";
            case MILLIS -> least + ".." + most + " ms";
            default -> least + ".." + most;
        };
    }

    /**
     * The value in normal form, with sizes rounded where the key allows it; throws ConfigException when it is out of
     * range.
     */
    public String normal(String text) {
        if (text == null) {
            throw new ConfigException(keyName(), "null", range());
        }
        if (kind == Kind.WORD) {
            String word = text.trim().toLowerCase(Locale.ROOT);
            if (!words.contains(word)) {
                throw new ConfigException(keyName(), text, range());
            }
            return word;
        }
        if (kind == Kind.PATH) {
            return path(text);
        }
        if (kind == Kind.LOCATION) {
            return Locations.normal(keyName(), text);
        }
        if (kind == Kind.NAME) {
            if (!text.isEmpty()) {
                Names.check(keyName(), text);
            }
            return text;
        }
        long number = kind == Kind.SIZE && !text.startsWith("-") ? Sizes.parse(keyName(), text) : parse(text);
        if (!allows(number)) {
            throw new ConfigException(keyName(), text, range());
        }
        if (this == SEGMENT_SIZE) {
            number -= number % PAGE;
        }
        if (this == MAX_IN_MEM_SEGMENTS) {
            number = Math.max(number, LEAST_IN_MEM);
        }
        return Long.toString(number);
    }

    private String path(String text) {
        try {
            return Path.of(text).toString();
        } catch (InvalidPathException e) {
            throw new ConfigException(keyName(), text, range() + ": " + e.getReason());
        }
    }

    private long parse(String text) {
        try {
            return Long.parseLong(text.trim());
        } catch (NumberFormatException e) {
            throw new ConfigException(keyName(), text, range());
        }
    }
}
