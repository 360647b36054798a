package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** The message names the argument where the JVM's own would name a variable inside of the library. */
class NullArgumentTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void isNamed() {
        Records batch = Records.of(List.of(new byte[1]));
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(temp.resolve("queue")).build())) {
            Map<Executable, String> calls = Map.of(
                    () -> queue.consumer(null, StartAt.EARLIEST),
                    "consumer",
                    () -> queue.createConsumer(null, StartAt.EARLIEST),
                    "consumer",
                    () -> queue.deleteConsumer(null),
                    "consumer",
                    () -> queue.owns(null),
                    "consumer",
                    () -> queue.ackedRanges(null),
                    "consumer",
                    () -> queue.pushOnce(null, 0, batch, Duration.ZERO),
                    "producer",
                    () -> queue.digest(null, 0),
                    "producer",
                    () -> queue.lastSequence(null),
                    "producer",
                    () -> queue.forgetProducer(null),
                    "producer",
                    () -> queue.pushOnce("one", 0, null, batch, Duration.ZERO, false),
                    "digest");
            calls.forEach((call, name) -> assertEquals(
                    name, assertThrows(NullPointerException.class, call).getMessage()));
            assertEquals(0, queue.endOffset());
        }
    }
}
