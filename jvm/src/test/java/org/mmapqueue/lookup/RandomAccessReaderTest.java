package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.support.Cores;

/** Random access by offset and by time, independent of consumers. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RandomAccessReaderTest extends RandomAccessFixture {
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everyRecordIsFoundByItsOffset(boolean timestamps) {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, timestamps)) {
            queue.pushMixed(200, 1);
            queue.assertAll();
            assertTrue(queue.begins.stream().anyMatch(begin -> begin > 0 && begin % SEGMENT == 0));
            assertTrue(queue.begins.stream().anyMatch(begin -> begin % SEGMENT == SEGMENT - 8));
            assertTrue(queue.core().stats().peakMappedSegments() <= 4);
        }
    }

    @Test
    void aRecordCountsBeforeTheWritingPositionPassesIt() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            queue.pushMixed(40, 3);
            int count = queue.log.size();
            long lastBegin = queue.begins.get(count - 1);
            RandomAccessReader.Source late = new RandomAccessReader.Source() {
                @Override
                public long head() {
                    return 0;
                }

                @Override
                public long reclaimed() {
                    return 0;
                }

                @Override
                public long end() {
                    return lastBegin;
                }

                @Override
                public boolean timestamps() {
                    return true;
                }
            };
            try (RandomAccessReader randomAccess =
                    new RandomAccessReader((LogReaderV2) queue.core().log().reader(), late)) {
                assertEquals(count, randomAccess.offsetAt(queue.end()));
                assertThrows(CorruptException.class, () -> randomAccess.offsetAt(queue.end() + 8));
            }
        }
    }

    @Test
    void aRecordInHundredsOfSegmentsIsFound() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 3000, true)) {
            while (queue.end() < 2500 * SEGMENT) {
                queue.push(queue.log.size() % 50 == 0 ? 15_000 : 1800);
            }
            SplittableRandom random = new SplittableRandom(8);
            for (int i = 0; i < 5000; i++) {
                int number = random.nextInt(queue.log.size());
                queue.assertRecord(number);
                long found = queue.randomAccess()
                        .find(queue.log.get(number).timestampMicros())
                        .orElseThrow();
                assertTrue(found <= number);
                assertEquals(
                        queue.log.get(number).timestampMicros(),
                        queue.log.get((int) found).timestampMicros());
            }
        }
    }

    @Test
    void aRecordAmongThousandsInASegmentIsFound() {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(1 << 20)
                .queueCapacitySegments(8)
                .maxInMemSegments(4)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        QueueCore core = Cores.open(config, DiskStorage.INSTANCE);
        try {
            RandomAccessReader randomAccess =
                    new RandomAccessReader((LogReaderV2) core.log().reader(), new RandomAccessReader.Source() {
                        @Override
                        public long head() {
                            return 0;
                        }

                        @Override
                        public long reclaimed() {
                            return 0;
                        }

                        @Override
                        public long end() {
                            return core.log().end();
                        }

                        @Override
                        public boolean timestamps() {
                            return true;
                        }
                    });
            int count = 150_000;
            byte[] data = new byte[8];
            for (int i = 0; i < count; i++) {
                ByteBuffer.wrap(data).putLong(0, i);
                core.writer().push(data, 0, 8);
            }
            assertTrue(core.log().end() > 3 << 20);
            assertEquals(count, randomAccess.endOffset());
            SplittableRandom random = new SplittableRandom(9);
            for (int i = 0; i < 5000; i++) {
                int number = random.nextInt(count);
                Message message = randomAccess.get(number, 1, 1).get(0);
                assertEquals(number, message.offset());
                assertEquals(number, ByteBuffer.wrap(message.data()).getLong());
                long found = randomAccess.find(message.timestampMicros()).orElseThrow();
                assertTrue(found <= number);
                assertEquals(
                        message.timestampMicros(),
                        randomAccess.get(found, 1, 1).get(0).timestampMicros());
                assertTrue(found == 0
                        || randomAccess.get(found - 1, 1, 1).get(0).timestampMicros() < message.timestampMicros());
                assertEquals(
                        number,
                        randomAccess.offsetAt(randomAccess.locate(number).position()));
            }
        } finally {
            core.close();
        }
    }

    @Test
    void everyCallThrowsAfterClose() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 10, true)) {
            queue.push(5);
            RandomAccessReader randomAccess = queue.randomAccess();
            randomAccess.close();
            randomAccess.close();
            assertEquals(
                    "the queue is closed",
                    assertThrows(ClosedException.class, () -> randomAccess.get(0, 1, 1))
                            .getMessage());
            assertThrows(ClosedException.class, () -> randomAccess.find(0));
            assertThrows(ClosedException.class, randomAccess::firstOffset);
            assertThrows(ClosedException.class, randomAccess::endOffset);
            assertThrows(ClosedException.class, () -> randomAccess.locate(0));
            assertThrows(ClosedException.class, () -> randomAccess.locateTime(0));
            assertThrows(ClosedException.class, () -> randomAccess.offsetAt(0));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void recordsAfterTheSealsOfRecoveriesAreFound(boolean timestamps) {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, timestamps)) {
            for (int kill = 0; kill < 6; kill++) {
                queue.pushMixed(25, 10 + kill);
                queue.abandon();
                queue.assertAll();
                queue.abandon();
                queue.assertAll();
                queue.push(50);
                queue.assertAll();
            }
            int last = queue.log.size();
            queue.ackBefore(last);
            queue.abandon();
            // Only a seal lies between the log start and the log end.
            assertEquals(last, queue.randomAccess().firstOffset());
            queue.assertOutOfRange(last - 1L, last);
            queue.assertPosition(last);
            if (timestamps) {
                queue.assertFind(0);
            }
        }
    }

    @Test
    void unpublishedRecordsAreNotRead() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            queue.pushMixed(60, 90);
            RandomAccessReader randomAccess = queue.randomAccess();
            for (int number = 1; number < queue.log.size(); number++) {
                queue.end = queue.begins.get(number);
                assertEquals(number, randomAccess.endOffset());
                assertEquals(
                        Math.min(3, number),
                        randomAccess
                                .get(Math.max(0, number - 3), 10, Long.MAX_VALUE)
                                .size());
                long beyond = number;
                assertEquals(
                        number - 1L,
                        assertThrows(OutOfRangeException.class, () -> randomAccess.get(beyond, 1, Long.MAX_VALUE))
                                .last());
                assertEquals(new RandomAccessReader.OffsetPosition(number, queue.end), randomAccess.locate(number));
                assertEquals(
                        new RandomAccessReader.OffsetPosition(number, queue.end),
                        randomAccess.locateTime(Long.MAX_VALUE));
                assertEquals(
                        OptionalLong.empty(),
                        randomAccess.find(queue.log.get(number - 1).timestampMicros() + 1));
            }
            // A consumer may ack a record before its writer has moved the writing position.
            queue.end = queue.begins.get(9);
            queue.head = queue.begins.get(10);
            assertEquals(9, randomAccess.firstOffset());
            assertEquals(9, randomAccess.endOffset());
            assertThrows(OutOfRangeException.class, () -> randomAccess.get(9, 1, 1));
            assertThrows(OutOfRangeException.class, () -> randomAccess.get(8, 1, 1));
            assertEquals(OptionalLong.empty(), randomAccess.find(0));
        }
    }
}
