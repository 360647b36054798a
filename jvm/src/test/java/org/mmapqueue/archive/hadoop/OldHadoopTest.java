package org.mmapqueue.archive.hadoop;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.mmapqueue.errors.ArchiveException;

/** A Hadoop that does not run on this Java: the error names both. */
class OldHadoopTest {
    @Test
    @EnabledForJreRange(minVersion = 24)
    void theErrorNamesTheVersionThatIsNeeded() {
        ArchiveException e = assertThrows(
                ArchiveException.class,
                () -> new HadoopFiles(URI.create("file:///archive"), new Configuration(), Set.of("file")));
        assertTrue(e.getMessage().contains("Hadoop 3.5 or later is needed"), e.getMessage());
    }
}
