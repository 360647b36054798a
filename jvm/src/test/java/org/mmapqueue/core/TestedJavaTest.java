package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.support.Appender;

class TestedJavaTest {
    private static final String WARNING = "mmapqueue was not tested on Java 99; tested: 17, 21, 25";

    @TempDir
    Path temp;

    @Test
    void onlyUntestedReleasesHaveAWarning() {
        assertEquals(Optional.empty(), TestedJava.warning(17));
        assertEquals(Optional.empty(), TestedJava.warning(25));
        assertEquals(Optional.of(WARNING), TestedJava.warning(99));
    }

    @Test
    void theFirstOpenOfAProcessWarns() {
        List<String> logged = Collections.synchronizedList(new ArrayList<>());
        Appender appender = Appender.of(TestedJava.class, logged::add);
        int before = TestedJava.UNCHECKED.getAndSet(99);
        try (appender) {
            for (int i = 0; i < 2; i++) {
                MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                                .capacity("64k")
                                .build())
                        .close();
            }
            assertEquals(List.of(WARNING), logged);
        } finally {
            TestedJava.UNCHECKED.set(before);
        }
    }
}
