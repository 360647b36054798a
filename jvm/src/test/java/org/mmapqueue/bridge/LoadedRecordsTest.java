package org.mmapqueue.bridge;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A record in parts that are each as large as the buffer. */
class LoadedRecordsTest {
    private static final int SIZE = 4096;
    private static final int PARTS = 256;

    @Test
    void thePartsOfALargeRecordAreCopiedAFewTimes() throws Exception {
        LoadedRecords loaded = new LoadedRecords(null, ByteBuffer.allocate(SIZE));
        Field payload = LoadedRecords.class.getDeclaredField("payload");
        payload.setAccessible(true);
        Set<Object> arrays = Collections.newSetFromMap(new IdentityHashMap<>());
        int part = SIZE - 2 * SharedBufferLayout.PAYLOAD;
        for (int i = 0; i < PARTS; i++) {
            loaded.checkHeap(part);
            loaded.add(part, 0);
            arrays.add(payload.get(loaded));
        }
        assertTrue(arrays.size() < 12, arrays.size() + " arrays for " + PARTS + " parts");
    }
}
