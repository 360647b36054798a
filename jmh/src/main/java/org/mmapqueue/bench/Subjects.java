package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.file.Path;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.bench.baseline.BufferedWrite;
import org.mmapqueue.bench.baseline.HeapQueue;
import org.mmapqueue.bench.baseline.Memcpy;
import org.mmapqueue.bench.baseline.SyncedWrite;
import org.mmapqueue.bench.peer.BigQueue;
import org.mmapqueue.bench.peer.Chronicle;
import org.mmapqueue.bench.peer.Rocks;
import org.mmapqueue.bench.roofline.Ring;

/** The subjects by name. */
public final class Subjects {

    /** The subject without other pushes than durable ones. */
    static final String SYNCED_WRITE = "write+fsync";

    /** The queue with no key set. */
    static final String UNCONFIGURED = "queue+defaults";

    private Subjects() {}

    /**
     * Opens a subject.
     *
     * @param directory the subject's files; a directory that does not exist yet, or one of an earlier subject
     * @throws IllegalArgumentException if no subject has the name
     */
    public static Subject open(String name, Shape shape, Path directory) throws IOException {
        switch (name) {
            case "queue":
                return new QueueSubject(QueueSubject.config(directory, shape));
            case UNCONFIGURED:
                return new QueueSubject(QueueConfig.builder(directory).build());
            case "ring":
                return new Ring(directory, shape, false);
            case "ring+flush":
                return new Ring(directory, shape, true);
            case "memcpy":
                return new Memcpy(shape, false);
            case "write":
                return new BufferedWrite(directory.resolve("file.dat"), shape);
            case SYNCED_WRITE:
                return new SyncedWrite(directory.resolve("file.dat"), shape);
            case "memcpy+crc":
                return new Memcpy(shape, true);
            case "heap":
                return new HeapQueue(shape);
            case "chronicle":
                return new Chronicle(directory, shape, 0);
            case "chronicle+sync":
                return new Chronicle(directory, shape, 1);
            case "chronicle+sync100":
                return new Chronicle(directory, shape, 100);
            case "rocksdb":
                return new Rocks(directory, shape);
            case "bigqueue":
                return new BigQueue(directory, shape);
            default:
                throw new IllegalArgumentException("subject " + name + ": unknown");
        }
    }
}
