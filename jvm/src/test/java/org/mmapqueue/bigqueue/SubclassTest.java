package org.mmapqueue.bigqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** Programs of bigqueue subclass its classes, and have them mocked. */
class SubclassTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void aQueueThatFails() throws IOException {
        try (IBigQueue queue = new BigQueueImpl(temp.toString(), "queue") {
            @Override
            public void enqueue(byte[] data) throws IOException {
                throw new IOException("the disk is full");
            }
        }) {
            assertThrows(IOException.class, () -> queue.enqueue(new byte[1]));
            assertEquals(0, queue.size());
        }
    }

    @Test
    void anArrayThatListens() throws IOException {
        List<Long> appended = new ArrayList<>();
        try (IBigArray array = new BigArrayImpl(temp.toString(), "array") {
            @Override
            public long append(byte[] data) throws IOException {
                long index = super.append(data);
                appended.add(index);
                return index;
            }
        }) {
            array.append(new byte[] {7});
            assertArrayEquals(new byte[] {7}, array.get(appended.get(0)));
        }
    }

    @Test
    void aFanOutWithoutItems() throws IOException {
        try (IFanOutQueue queue = new FanOutQueueImpl(temp.toString(), "queue") {
            @Override
            public boolean isEmpty() {
                return true;
            }
        }) {
            queue.enqueue(new byte[] {7});
            assertEquals(true, queue.isEmpty());
        }
    }
}
