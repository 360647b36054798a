package org.mmapqueue;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.MmapQueueException;

/** The value types of the face. */
class ValuesTest {
    private static Message message(long offset, String data) {
        return new Message(offset, 1_700_000_000_123_456L, data.getBytes(UTF_8), 1);
    }

    @Test
    void messagesAreEqualByContent() {
        Message one = message(7, "one");
        assertEquals(one, message(7, "one"));
        assertEquals(one.hashCode(), message(7, "one").hashCode());
        Set<Message> all = new HashSet<>(Set.of(one));
        assertFalse(all.add(message(7, "one")));
        for (Message other : List.of(
                message(8, "one"),
                message(7, "two"),
                new Message(7, 0, one.data(), 1),
                new Message(7, one.timestampMicros(), one.data(), 2))) {
            assertNotEquals(one, other);
            assertTrue(all.add(other));
        }
        assertNotEquals(one, "one");
    }

    @Test
    void aPackedBatchHasItsLengths() {
        for (int count : new int[] {-1, 2}) {
            assertThrows(IllegalArgumentException.class, () -> Records.packed(new byte[9], 0, new int[] {3}, count));
        }
    }

    @Test
    void aMessageAsTextShowsTheBeginningOfItsPayload() {
        assertEquals(
                "Message[offset=7, timestamp=2023-11-14T22:13:20.123456Z, attempts=1, data=3 bytes 6f6e65]",
                message(7, "one").toString());
        String large = new Message(0, 0, new byte[1000], 0).toString();
        assertEquals("Message[offset=0, timestamp=none, attempts=0, data=1000 bytes " + "00".repeat(32) + "…]", large);
    }

    @Test
    void aTimestampIsAnInstant() {
        assertEquals(
                Optional.of(Instant.parse("2023-11-14T22:13:20.123456Z")),
                message(0, "").timestamp());
        assertEquals(Optional.empty(), new Message(0, 0, new byte[0], 0).timestamp());
    }

    @Test
    void aTimeIsRoundedUpToMicros() {
        Instant whole = Instant.ofEpochSecond(5, 3000);
        assertEquals(5_000_003, StartAt.timestamp(whole).value());
        assertEquals(5_000_004, StartAt.timestamp(whole.plusNanos(1)).value());
        assertEquals(5_000_004, StartAt.timestamp(whole.plusNanos(1000)).value());
        assertEquals(-1, StartAt.timestamp(Instant.EPOCH.minusNanos(1500)).value());
        assertEquals(Long.MAX_VALUE, StartAt.timestamp(Instant.MAX).value());
        assertEquals(Long.MIN_VALUE, StartAt.timestamp(Instant.MIN).value());
    }

    @Test
    void theFaceSaysWhatMayBeNull() throws ReflectiveOperationException {
        assertTrue(MmapQueue.class.getPackage().isAnnotationPresent(NullMarked.class));
        assertTrue(MmapQueueException.class.getPackage().isAnnotationPresent(NullMarked.class));
        for (String each : List.of("poll", "peek")) {
            assertTrue(
                    Consumer.class.getMethod(each).getAnnotatedReturnType().isAnnotationPresent(Nullable.class), each);
        }
    }
}
