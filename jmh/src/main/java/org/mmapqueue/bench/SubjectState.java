package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The subject of a fork, its sizes, and one writer and one reader of it. Used by one thread at a time.
 *
 * <p>An invocation moves as many records as fit into the ring, or some millions, so it takes milliseconds. Filling and
 * draining happen between invocations, untimed: around single pushes of 50 ns JMH would measure the clock.
 */
@State(Scope.Benchmark)
public class SubjectState {
    /** Records between two acks. */
    static final int ACK_EVERY = 256;
    // To write a larger ring once would wait for the disk for minutes; such a ring is measured new.
    private static final long MAX_WRAPPED_BYTES = 4L << 30;
    private static final int WRAP_STEP = 100;

    /** A name from {@link Subjects}. */
    @Param({"queue", "ring"})
    public String subject;

    /** Bytes of a record. */
    @Param({"100", "1024", "8192"})
    public int payload;

    /** Bytes of a segment. */
    @Param({"67108864"})
    public int segment;

    /** Segments of the ring. */
    @Param({"16"})
    public int capacity;

    /** The most segments that are mapped at once. */
    @Param({"16"})
    public int mapped;

    /** Records after which a flush is due; 0 for no flusher. */
    @Param({"10000"})
    public int ceiling;

    /** Whether each record stores its timestamp. */
    @Param({"true"})
    public boolean timestamps;

    byte[] record;
    /** How many records an invocation moves. */
    int records;

    private Subject opened;
    private Subject.Writer writer;
    private Subject.Reader reader;
    private Path directory;
    private Shape shape;
    private boolean writerTaken;
    private boolean readerTaken;
    /** Pushed, not popped. */
    private int queued;

    @Setup(Level.Trial)
    public void open() throws IOException {
        shape = new Shape(payload, segment, capacity, mapped, ceiling, timestamps);
        directory = BenchDirectory.create(subject);
        reopen();
        record = new byte[payload];
        new Random(payload).nextBytes(record);
        records = shape.records();
    }

    @TearDown(Level.Trial)
    public void close() throws IOException {
        opened.close();
        BenchDirectory.delete(directory);
    }

    /** Opens the subject on the content of its directory. */
    void reopen() throws IOException {
        opened = Subjects.open(subject, shape, directory.resolve("subject"));
        writer = opened.writer();
        reader = opened.reader();
    }

    /** Closes the subject and opens it again, with its records. With {@code cold} their pages leave the page cache. */
    void reopen(boolean cold) throws IOException {
        opened.close();
        if (cold) {
            PageCache.drop(directory);
        }
        reopen();
    }

    /** Replaces the subject by a new one, without records. */
    void renew() throws IOException {
        opened.close();
        BenchDirectory.delete(directory.resolve("subject"));
        queued = 0;
        reopen();
    }

    /** Writes and reads the whole ring once, so that no measured record is the first of its page. */
    void wrap() {
        if (shape.ringBytes() <= MAX_WRAPPED_BYTES) {
            for (long bytes = 0; bytes < shape.ringBytes(); bytes += (long) WRAP_STEP * payload) {
                fill(WRAP_STEP);
                drain();
            }
        }
    }

    Path directory() {
        return directory;
    }

    /** The queue itself; fails for other subjects. */
    QueueSubject queue() {
        return (QueueSubject) opened;
    }

    Subject.Writer writer() {
        return writer;
    }

    Subject.Reader reader() {
        return reader;
    }

    /** A writer for one more thread; the first one is {@link #writer()}, since some subjects have no other. */
    synchronized Subject.Writer threadWriter() {
        Subject.Writer mine = writerTaken ? opened.writer() : writer;
        writerTaken = true;
        return mine;
    }

    /** A reader for one more thread; the first one is {@link #reader()}. */
    synchronized Subject.Reader threadReader() {
        Subject.Reader mine = readerTaken ? opened.reader() : reader;
        readerTaken = true;
        return mine;
    }

    /** Accounts for records that others have pushed or, below 0, popped. */
    void addQueued(int count) {
        queued += count;
    }

    /** Pushes records one by one; waits for room. */
    void fill(int count) {
        push(count);
        addQueued(count);
    }

    /** As {@link #fill}, for another thread than the one that accounts for the records. */
    void push(int count) {
        Subject.Writer to = writer;
        byte[] bytes = record;
        Idle idle = new Idle();
        for (int i = 0; i < count; i++) {
            push(to, bytes, idle);
        }
    }

    /** Pops records one by one and acks them; waits, since a segment may not be mapped yet. */
    void take(int count) {
        Subject.Reader from = reader;
        Idle idle = new Idle();
        for (int i = 0; i < count; i++) {
            pop(from, idle);
            if (i % ACK_EVERY == ACK_EVERY - 1) {
                from.ack();
            }
        }
        from.ack();
        queued -= count;
    }

    /** Pops and acks all records. */
    void drain() {
        take(queued);
    }

    static void push(Subject.Writer to, byte[] bytes, Idle idle) {
        if (!to.push(bytes)) {
            do {
                idle.idle();
            } while (!to.push(bytes));
            idle.reset();
        }
    }

    static void pop(Subject.Reader from, Idle idle) {
        if (!from.pop()) {
            do {
                idle.idle();
            } while (!from.pop());
            idle.reset();
        }
    }

    static void pushBatch(Subject.Writer to, List<byte[]> batch, Idle idle) {
        if (!to.pushBatch(batch)) {
            do {
                idle.idle();
            } while (!to.pushBatch(batch));
            idle.reset();
        }
    }
}
