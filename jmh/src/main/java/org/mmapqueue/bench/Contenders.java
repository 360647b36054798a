package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.file.Path;

import org.mmapqueue.bench.other.BufferedWrite;
import org.mmapqueue.bench.other.HeapQueue;
import org.mmapqueue.bench.other.Memcpy;
import org.mmapqueue.bench.roofline.Ring;

/** The contenders by name. A peer is one more class and one more line here. */
final class Contenders {

    private Contenders() {
    }

    /**
     * Opens a contender that holds nothing.
     *
     * @param directory where it may keep files; not there yet
     */
    static Contender open(String name, Shape shape, Path directory) throws IOException {
        switch (name) {
            case "queue":
                return new QueueContender(directory, shape);
            case "ring":
                return new Ring(directory, shape, false);
            case "ring+flush":
                return new Ring(directory, shape, true);
            case "memcpy":
                return new Memcpy(shape);
            case "write":
                return new BufferedWrite(directory.resolve("file.dat"), shape);
            case "heap":
                return new HeapQueue(shape);
            default:
                throw new IllegalArgumentException("no contender is named " + name);
        }
    }
}
