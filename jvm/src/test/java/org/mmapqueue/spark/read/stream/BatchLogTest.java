package org.mmapqueue.spark.read.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.spark.common.PartitionOffsets;

class BatchLogTest {
    @TempDir
    Path checkpoint;

    private BatchLog log;

    @BeforeEach
    void open() {
        String source = checkpoint.resolve("sources").resolve("0").toString();
        log = new CheckpointFile(source, new Configuration(false)).batches();
    }

    @Test
    void theNewestBatchCounts() throws IOException {
        for (int batch : new int[] {8, 9, 10}) {
            planned(Integer.toString(batch), "{\"0\":" + batch + "}");
            complete(batch);
        }
        assertEquals(Optional.of(PartitionOffsets.parse("{\"0\":10}")), log.committed());
    }

    @Test
    void aPlannedBatchHidesTheCompleteOnes() throws IOException {
        planned("0", "{\"0\":5}");
        complete(0);
        planned("1", "{\"0\":5}");
        assertEquals(Optional.empty(), log.committed());
        complete(1);
        assertEquals(Optional.of(PartitionOffsets.parse("{\"0\":5}")), log.committed());
    }

    @Test
    void filesThatAreNotBatchesDoNotCount() throws IOException {
        planned("3", "{\"0\":5}");
        complete(3);
        for (String name : new String[] {".4.crc", ".5.5d0f.tmp", "6.compact", "_spark_metadata"}) {
            planned(name, "{\"0\":9}");
        }
        assertEquals(Optional.of(PartitionOffsets.parse("{\"0\":5}")), log.committed());
    }

    @Test
    void noBatchIsPlanned() throws IOException {
        assertThrows(IOException.class, log::committed);
        Files.createDirectories(checkpoint.resolve("offsets"));
        assertEquals(Optional.empty(), log.committed());
    }

    private void planned(String name, String position) throws IOException {
        Files.createDirectories(checkpoint.resolve("offsets"));
        Files.writeString(checkpoint.resolve("offsets").resolve(name), "v1\n{}\n" + position);
    }

    private void complete(int batch) throws IOException {
        Files.createDirectories(checkpoint.resolve("commits"));
        Files.writeString(checkpoint.resolve("commits").resolve(Integer.toString(batch)), "v1\n{}");
    }
}
