package org.mmapqueue.spark.events.envelope;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Utf8;
import org.mmapqueue.spark.events.wire.WireReader;

/** Collects map entries; of equal keys the last one is kept, as in protobuf. Not thread-safe. */
final class MetaMap {
    static final ArrayBasedMapData NONE = map(new Object[0], new Object[0]);
    /** Up to this number of entries, keys are compared with one another; more entries are hashed. */
    private static final int FEW = 8;

    private Object[] keys = new Object[4];
    private Object[] values = new Object[4];
    private int size;
    private Map<UTF8String, UTF8String> many;

    /** Reads the entry, a nested message of the field. */
    void read(WireReader in, int field) throws MalformedException {
        int outer = in.enter(field);
        UTF8String key = null;
        UTF8String value = null;
        for (int each = in.nextField(); each != 0; each = in.nextField()) {
            switch (each) {
                case 1 -> key = in.text(1);
                case 2 -> value = in.text(2);
                default -> in.skip();
            }
        }
        in.leave(outer);
        put(Utf8.orEmpty(key), Utf8.orEmpty(value));
    }

    void put(UTF8String key, UTF8String value) {
        if (many != null) {
            many.put(key, value);
            return;
        }
        for (int i = 0; i < size; i++) {
            if (keys[i].equals(key)) {
                values[i] = value;
                return;
            }
        }
        if (size == FEW) {
            many = new LinkedHashMap<>();
            for (int i = 0; i < size; i++) {
                many.put((UTF8String) keys[i], (UTF8String) values[i]);
            }
            many.put(key, value);
            return;
        }
        if (size == keys.length) {
            keys = Arrays.copyOf(keys, FEW);
            values = Arrays.copyOf(values, FEW);
        }
        keys[size] = key;
        values[size++] = value;
    }

    ArrayBasedMapData toMap() {
        return many != null
                ? map(many.keySet().toArray(), many.values().toArray())
                : map(Arrays.copyOf(keys, size), Arrays.copyOf(values, size));
    }

    private static ArrayBasedMapData map(Object[] keys, Object[] values) {
        return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
    }
}
