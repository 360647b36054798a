package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.provider.Arguments;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.support.QuickDirectory;

/** Configurations of a queue in a temporary directory. */
abstract class ConfigFixture {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    QueueConfig.Builder builder() {
        return QueueConfig.builder(temp.resolve("queue"));
    }

    static ConfigException thrownBy(Runnable call) {
        return assertThrows(ConfigException.class, call::run);
    }

    static List<Arguments> of(String key, String range, String... values) {
        return Stream.of(values).map(value -> Arguments.of(key, range, value)).toList();
    }
}
