package org.mmapqueue.spark.events.wire;

import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** Messages of a key (field 1) and a value (field 2): attributes of OTLP, tags of SkyWalking. Thread-safe. */
public final class Pairs {
    private static final int KEY = 1;
    private static final int VALUE = 2;

    private Pairs() {}

    /** Reads the value at the reader's position. */
    @FunctionalInterface
    public interface Value {
        UTF8String read(WireReader in, int field) throws MalformedException;
    }

    /** The value of the pair that the reader has entered; null if the pair has another key. */
    public static UTF8String value(WireReader in, byte[] key, Value value) throws MalformedException {
        boolean wanted = false;
        UTF8String found = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == KEY) {
                int length = in.length(KEY);
                wanted = Arrays.equals(in.bytes(), in.position(), in.position() + length, key, 0, key.length);
                in.rewind(in.position() + length);
            } else if (field == VALUE) {
                found = value.read(in, VALUE);
            } else {
                in.skip();
            }
        }
        return wanted ? found : null;
    }
}
