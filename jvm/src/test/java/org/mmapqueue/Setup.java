package org.mmapqueue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.support.Payload;

/** The configurations that every contract test runs for. */
public enum Setup {
    V2_SMALL(2, true, 4096, 64, 4, 3000),
    V2_SMALL_NO_TIMESTAMPS(2, false, 4096, 64, 10, 3000),
    V2_RECORDS_OVER_SEGMENTS(2, true, 4096, 32, 4, 20_000),
    V2_FIVE_SEGMENTS(2, false, 4096, 5, 4, 9000),
    V2_LARGE(2, true, 131_072, 16, 10, 20_480),
    V2_LARGE_RECORDS_OVER_SEGMENTS(2, false, 131_072, 8, 4, 300_000),
    V1_SMALL(1, false, 4096, 64, 4, 3000),
    V1_RECORDS_OVER_SEGMENTS(1, false, 4096, 32, 4, 20_000),
    V1_FIVE_SEGMENTS(1, false, 4096, 5, 4, 3000),
    V1_LARGE(1, false, 131_072, 16, 10, 20_480);

    final int version;
    final boolean timestamps;
    final int segmentSize;
    final int capacity;
    final int maxInMem;
    final int maxEvent;

    Setup(int version, boolean timestamps, int segmentSize, int capacity, int maxInMem, int maxEvent) {
        this.version = version;
        this.timestamps = timestamps;
        this.segmentSize = segmentSize;
        this.capacity = capacity;
        this.maxInMem = maxInMem;
        this.maxEvent = maxEvent;
    }

    /** A configuration without periodic flushes. */
    public QueueConfig.Builder config(Path directory) {
        QueueConfig.Builder builder = QueueConfig.builder(directory)
                .formatVersion(version)
                .segmentSize(segmentSize)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(maxInMem)
                .maxEventSize(maxEvent)
                .flushPeriod(Duration.ofMinutes(10));
        return version == 1 ? builder : builder.timestamps(timestamps);
    }

    MmapQueue open(Path directory) {
        return MmapQueue.open(config(directory).build());
    }

    /** Opens the directory of a killed writer; every record that it pushed must be found. */
    MmapQueue openAfterKill(Path directory) {
        QueueConfig.Builder config = config(directory);
        return MmapQueue.open((version == 1 ? config.v1Recover("writing") : config).build());
    }

    boolean isV1() {
        return version == 1;
    }

    /** Bytes that records may take in the log without filling the ring. */
    int room() {
        int kept = 2 + (isV1() ? 1 + maxEvent / segmentSize : 0);
        return (capacity - kept) * (segmentSize - 64);
    }

    /** Most bytes that a record of this payload length takes in the log. */
    int footprint(int length) {
        return 24 + length + 7;
    }

    /** Payloads of mixed lengths, from 0 to the largest, that fit into the ring together. */
    List<byte[]> payloads(long seed, int most) {
        SplittableRandom random = new SplittableRandom(seed);
        List<byte[]> payloads = new ArrayList<>();
        int left = room();
        while (payloads.size() < most) {
            int length = length(random, payloads.size());
            left -= footprint(length);
            if (left < 0) {
                break;
            }
            payloads.add(Payload.of(seed * 1_000_003 + payloads.size(), length));
        }
        return payloads;
    }

    private int length(SplittableRandom random, int number) {
        return switch (number % 8) {
            case 0 -> random.nextInt(20);
            case 1 -> 0;
            case 2 -> random.nextInt(maxEvent / 2) + maxEvent / 2;
            case 3 -> maxEvent;
            default -> random.nextInt(Math.min(maxEvent, 1000));
        };
    }

    /** A payload of one tenth of a segment. */
    byte[] tenth(long number) {
        return Payload.of(number, segmentSize / 10);
    }
}
