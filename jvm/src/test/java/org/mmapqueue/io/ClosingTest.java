package org.mmapqueue.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClosingTest {
    private final List<Integer> closed = new ArrayList<>();

    private Closeable each(int number, Throwable failure) {
        return () -> {
            closed.add(number);
            if (failure instanceof IOException e) {
                throw e;
            }
            if (failure instanceof RuntimeException e) {
                throw e;
            }
            if (failure instanceof Error e) {
                throw e;
            }
        };
    }

    @Test
    void allAreClosedWhateverFails() {
        IOException first = new IOException("first");
        RuntimeException second = new IllegalStateException("second");
        IOException raised = assertThrows(
                IOException.class, () -> Closing.all(each(1, first), null, each(2, second), each(3, null)));
        assertSame(first, raised);
        assertSame(second, raised.getSuppressed()[0]);
        assertEquals(List.of(1, 2, 3), closed);
    }

    @Test
    void aFailureOfAnyKindIsRaised() {
        RuntimeException first = new IllegalStateException("first");
        assertSame(
                first,
                assertThrows(
                        IllegalStateException.class,
                        () -> Closing.all(each(1, first), each(2, new IOException("second")))));
        assertEquals(List.of(1, 2), closed);
    }

    @Test
    void anErrorSkipsNothing() {
        Error first = new OutOfMemoryError("first");
        IOException second = new IOException("second");
        assertSame(
                first,
                assertThrows(
                        OutOfMemoryError.class, () -> Closing.all(each(1, first), each(2, second), each(3, null))));
        assertSame(second, first.getSuppressed()[0]);
        assertEquals(List.of(1, 2, 3), closed);
    }

    /** The JVM raises one and the same OutOfMemoryError again and again when it has no room for another one. */
    @Test
    void theSameErrorMayComeTwice() {
        Error same = new OutOfMemoryError("same");
        assertSame(same, assertThrows(OutOfMemoryError.class, () -> Closing.all(each(1, same), each(2, same))));
        assertEquals(List.of(1, 2), closed);
    }

    @Test
    void nothingIsRaisedWhenNothingFails() throws IOException {
        Closing.all(each(1, null), each(2, null));
        assertEquals(List.of(1, 2), closed);
    }
}
