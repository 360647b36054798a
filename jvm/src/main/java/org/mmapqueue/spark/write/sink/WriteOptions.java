package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.spark.common.Options;

/**
 * The validated options of a write.
 *
 * @param path the queue's directory
 * @param config the requested configuration of the queue
 * @param push settings of the push
 * @param key the name of the key column; null for none
 */
public record WriteOptions(Path path, SinkConfig config, Push push, String key) {
    static final String KEY = "key";
    static final String PUSH_TIMEOUT = "pushTimeout";
    static final String SYNC = "sync";
    static final String FAIL_ON_DATA_LOSS = "failOnDataLoss";

    private static final String ASYNC_PROGRESS = "asyncProgressTrackingEnabled";
    private static final int MOST_PARTITIONS = 10_000;
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(60);
    private static final String FORMAT_VERSION = "format_version";

    /** Keys that have no effect on a write. */
    private static final Set<String> NOT_WRITERS = Set.of("read_only", "v1_recover", FORMAT_VERSION);

    /**
     * Parses and validates options.
     *
     * @param path the queue's directory
     * @param options the options of the table and the query
     * @return the parsed options
     * @throws IllegalArgumentException if an option is invalid
     */
    public static WriteOptions of(Path path, Options options) {
        long partitions = options.number(Options.PARTITIONS, 0, 1);
        if (partitions > MOST_PARTITIONS) {
            throw Options.bad(Options.PARTITIONS, Long.toString(partitions), "1.." + MOST_PARTITIONS);
        }
        String version = options.text(FORMAT_VERSION, "2");
        if (!version.equals("2")) {
            throw Options.bad(FORMAT_VERSION, version, "2, as version 1 does not support idempotent pushes");
        }
        if (options.flag(ASYNC_PROGRESS, false)) {
            throw Options.bad(ASYNC_PROGRESS, "true", "false, as a repeated epoch must have the same rows");
        }
        String key = options.text(KEY, null);
        if (key != null && key.isEmpty()) {
            throw Options.bad(KEY, key, "the name of a column");
        }
        return new WriteOptions(
                path,
                new SinkConfig((int) partitions, queueKeys(options)),
                new Push(
                        options.duration(PUSH_TIMEOUT, DEFAULT_TIMEOUT),
                        options.flag(SYNC, false),
                        options.flag(FAIL_ON_DATA_LOSS, true)),
                key);
    }

    /** Returns a copy with figures for the push. */
    public WriteOptions counting(PushFigures figures) {
        return new WriteOptions(path, config, push.counting(figures), key);
    }

    private static Map<String, String> queueKeys(Options options) {
        Map<String, String> keys = new HashMap<>();
        for (String name : QueueConfig.defaults().keySet()) {
            if (options.isSet(name) && !NOT_WRITERS.contains(name)) {
                keys.put(
                        name,
                        ConfigKey.of(name, "").isTime()
                                ? Long.toString(options.millis(name, Duration.ZERO))
                                : options.text(name, null));
            }
        }
        return keys;
    }
}
