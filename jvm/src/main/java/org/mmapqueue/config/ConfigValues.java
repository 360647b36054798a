package org.mmapqueue.config;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.mmapqueue.errors.ConfigException;

/** Configuration keys with their values in normal form, and the directory of the queue. Immutable. */
public final class ConfigValues {
    private final Path queueDir;
    private final Map<ConfigKey, String> values;

    private ConfigValues(Path queueDir, Map<ConfigKey, String> values) {
        this.queueDir = queueDir;
        this.values = values;
    }

    /** Returns a configuration in which only queue_dir is set. */
    public static ConfigValues of(Path queueDir) {
        return new ConfigValues(queueDir, Map.of());
    }

    /**
     * Parses keys and values.
     *
     * @param options keys as in docs/reference/configuration.md
     * @param defaultDir the value of queue_dir when the options do not set it
     * @throws ConfigException for an unknown key, an empty queue_dir or a value out of range
     */
    public static ConfigValues of(Map<String, String> options, String defaultDir) {
        String directory = options.getOrDefault("queue_dir", defaultDir);
        if (directory == null || directory.isEmpty()) {
            throw new ConfigException("queue_dir", String.valueOf(directory), "the path of a directory");
        }
        ConfigValues values;
        try {
            values = of(Path.of(directory));
        } catch (InvalidPathException e) {
            throw new ConfigException(
                    "queue_dir",
                    directory,
                    "the path of a directory: " + e.getReason() + " (this JVM encodes the names of files in "
                            + System.getProperty("sun.jnu.encoding") + "; LC_ALL=C.UTF-8 makes that UTF-8)");
        }
        for (Map.Entry<String, String> option : options.entrySet()) {
            if (!option.getKey().equals("queue_dir")) {
                values = values.with(ConfigKey.of(option.getKey(), option.getValue()), option.getValue());
            }
        }
        return values;
    }

    /**
     * Returns a copy with one key set.
     *
     * @throws ConfigException when the value is out of range
     */
    public ConfigValues with(ConfigKey key, String text) {
        Map<ConfigKey, String> more = new EnumMap<>(ConfigKey.class);
        more.putAll(values);
        more.put(key, key.normal(text));
        return new ConfigValues(queueDir, Collections.unmodifiableMap(more));
    }

    public ConfigValues with(ConfigKey key, long value) {
        return with(key, Long.toString(value));
    }

    /** Returns a copy with a value for a key that is not set; returns this object when the key is set. */
    public ConfigValues orElse(ConfigKey key, long value) {
        return isSet(key) ? this : with(key, value);
    }

    /** Returns a copy with another path of the queue's directory. */
    public ConfigValues at(Path directory) {
        return new ConfigValues(directory, values);
    }

    public Path queueDir() {
        return queueDir;
    }

    public boolean isSet(ConfigKey key) {
        return values.containsKey(key);
    }

    /** The value of a key, or its default. */
    public String text(ConfigKey key) {
        return values.getOrDefault(key, key.defaultText());
    }

    public long number(ConfigKey key) {
        return Long.parseLong(text(key));
    }

    public boolean flag(ConfigKey key) {
        return Boolean.parseBoolean(text(key));
    }

    /** The keys that are set, queue_dir included. */
    public Map<String, String> asMap() {
        Map<String, String> map = new LinkedHashMap<>();
        map.put("queue_dir", queueDir.toString());
        values.forEach((key, value) -> map.put(key.keyName(), value));
        return map;
    }
}
