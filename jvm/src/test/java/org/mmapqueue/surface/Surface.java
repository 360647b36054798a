package org.mmapqueue.surface;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.TestDisk;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.errors.ArchiveUnavailableException;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.meta.OverflowFile;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.ChangingRecords;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Micros;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;
import org.mmapqueue.tool.QueueContent;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/**
 * A queue with its archive, and the {@link Reference} that both must agree with after every step. The queue is open
 * between steps, on a disk that can fail and lose power, without background threads; steps that ship run with them.
 */
final class Surface implements AutoCloseable {
    private static final String SHIP = "ship";
    private static final String PRODUCER = "p";
    private static final int LARGEST = 9000;
    /** Length of the records that make a ring overflow. */
    private static final int OVERFLOWING = 1000;

    private static final Duration AGE = Duration.ofDays(1);
    private static final int SECOND = 1_000_000;

    /** What bounds the log besides its consumers. */
    enum Limit {
        NONE,
        RETAIN,
        LAG,
        AGE,
        /** Its ring gives up what the archive has: consumers that need it read on there. */
        OVERFLOW
    }

    /** The forms of a push. */
    enum Push {
        PLAIN,
        BUFFER,
        OFFER,
        TIMED,
        SYNC,
        ASYNC,
        BATCH,
        LENGTHS,
        ONCE,
        REPEATED
    }

    /** How an open queue that ships ends. */
    enum Shipping {
        WAITS,
        CLOSES_AT_ONCE,
        OVERFLOWS,
        KILLED_BEFORE_THE_ACK,
        THREADS_ARE_INTERRUPTED
    }

    private final Path temp;
    private final Limit limit;
    private final SplittableRandom random;
    private Reference reference = new Reference();
    private final Map<String, Consumer> handles = new HashMap<>();
    /** Another handle of the queue in this process; null if there is none. */
    private @Nullable MmapQueue second;
    /** The consumers that it uses. */
    private final Map<String, Consumer> seconds = new HashMap<>();

    private URI archive;
    private int archives;
    /** Archives into which the queue was shipped before, as long as its records follow theirs. */
    private final List<URI> former = new ArrayList<>();
    /** The archive has no record before this offset. */
    private long changedAt;
    /** The payloads that the archive may have, by offset. */
    private List<byte[]> archived = List.of();

    private TestDisk disk = new TestDisk();
    private Path directory;
    private @Nullable MmapQueue queue;
    private int segmentSize = 4096;
    private int capacity = 12;
    private int directories;
    /** The boot of the machine. */
    private long boot = 1;
    /** Recoveries, each of which may leave the rest of a segment unused. */
    private int recoveries;
    /** Records before this offset have a time before max_age. */
    private int aged;
    /** A copy of the closed directory, and what it holds. */
    private @Nullable Backup backup;
    /** Whether the archive goes on with the records of a directory that was replaced. */
    private boolean isReplaced;
    /** The records that the archive has. */
    private final TreeSet<Integer> inArchive = new TreeSet<>();
    /** Whether a call on a file may fail now. */
    private boolean mayFail;
    /** Whether a consumer was deleted: its own files need not be durable then. */
    private boolean hasDeleted;

    Surface(Path temp, Limit limit, long seed) {
        this.temp = temp;
        this.limit = limit;
        this.random = new SplittableRandom(seed);
        this.archive = nextArchive();
        this.directory = next();
        disk.machine(boot);
        open();
        create("a", StartAt.EARLIEST);
    }

    private Path next() {
        return temp.resolve(temp.getFileName() + "-" + directories++);
    }

    private URI nextArchive() {
        return temp.resolve("archive-" + archives++).toUri();
    }

    private QueueConfig.Builder plain() {
        QueueConfig.Builder config = QueueConfig.builder(directory)
                .segmentSize(segmentSize)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(6)
                .maxEventSize(LARGEST)
                .flushPeriod(Duration.ofHours(1));
        return switch (limit) {
            case NONE, OVERFLOW -> config;
            case RETAIN -> config.retainBytes(3L * segmentSize);
            case LAG -> config.maxConsumerLag((capacity - 3L) * segmentSize);
            case AGE -> config.maxAge(AGE);
        };
    }

    private QueueConfig.Builder config() {
        QueueConfig.Builder config = plain();
        return limit == Limit.OVERFLOW ? shipping(config).overflow("archive").onDamage("skip") : config;
    }

    private QueueConfig.Builder shipping(QueueConfig.Builder config) {
        return config.archiveUri(archive).archiveHost("host");
    }

    // Whether consumers can read before the ring. A queue that was replaced may hold other records there.
    private boolean mayReadArchive() {
        return limit == Limit.OVERFLOW && !isReplaced && Files.exists(directory.resolve(OverflowFile.NAME));
    }

    /** The first record that can be read, in the ring or in the archive. */
    private int first() {
        int ring = (int) queue().firstOffset();
        return mayReadArchive() && !inArchive.isEmpty() ? Math.min(ring, inArchive.first()) : ring;
    }

    // The files are as they are, on a disk that works.
    private void changeDisk() {
        disk = new TestDisk();
        disk.machine(boot);
        disk.adopt(directory);
    }

    private void open() {
        queue = disk.open(config().build());
    }

    private MmapQueue queue() {
        MmapQueue open = queue;
        if (open == null) {
            throw new IllegalStateException("the queue is closed");
        }
        return open;
    }

    // ---- steps with a fault or an interrupt

    /** A step of the surface. */
    interface Step {
        void on(Surface surface) throws InterruptedException, IOException;
    }

    /**
     * The n-th call of the step on a file fails. The process is killed then, and the next one recovers; or it goes on, if
     * the step was a push that has stored nothing.
     */
    void faulty(int number, FaultyStorage.Fault fault, Step step) throws InterruptedException, IOException {
        disk.failOnce(number, fault);
        mayFail = true;
        try {
            step.on(this);
            disk.heal();
        } catch (MmapQueueException | CompletionException e) {
            disk.heal();
            assertTrue(isInjected(e), "an error of its own: " + e);
            if (isPushAlone(e) && random.nextInt(4) > 0) {
                reference.notPushed();
            } else {
                kill(true);
            }
        } finally {
            mayFail = false;
        }
    }

    /**
     * The n-th fsync of the step fails while its thread is interrupted: the step throws, and nothing is lost that was
     * durable before. The kernel reports such an error once.
     */
    void faultyFsync(int number, Step step) throws InterruptedException, IOException {
        int before = disk.failedFsyncs();
        TestDisk used = disk;
        disk.failFsync(number);
        mayFail = true;
        hasDeleted = false;
        try {
            step.on(this);
            assertTrue(before == used.failedFsyncs() || hasDeleted, "a failed fsync was reported as success");
        } catch (MmapQueueException | CompletionException e) {
            assertTrue(isInjected(e), "an error of its own: " + e);
            Thread.interrupted();
            used.heal();
            losePower(0);
        } finally {
            used.heal();
            mayFail = false;
            Thread.interrupted();
        }
    }

    /**
     * The log has an appender that throws, as one of a program may. The step is not disturbed by it; or it fails, and
     * then the process is killed.
     */
    void withoutLog(Step step) throws InterruptedException, IOException {
        Appender throwing = Appender.ofAll(line -> {
            throw new MmapQueueException("injected by the log");
        });
        mayFail = true;
        try (throwing) {
            step.on(this);
        } catch (MmapQueueException | CompletionException e) {
            assertTrue(isInjected(e), "an error of its own: " + e);
            throwing.close();
            kill(true);
        } finally {
            mayFail = false;
        }
    }

    private boolean isPushAlone(Throwable e) {
        for (Throwable each = e; each != null; each = each.getCause()) {
            if (each instanceof PoisonedException) {
                return false;
            }
        }
        return queue != null && !reference.uncertain.isEmpty() && queue.endOffset() == reference.end();
    }

    private static boolean isInjected(Throwable e) {
        for (Throwable each = e; each != null; each = each.getCause()) {
            if (String.valueOf(each.getMessage()).contains("injected")) {
                return true;
            }
        }
        return false;
    }

    /**
     * The step's thread is interrupted before it begins: the interrupt stays pending, or the step has no effect. A call
     * that reads in the archive ends with an error, too.
     */
    void interrupted(Step step) throws IOException {
        Thread.currentThread().interrupt();
        boolean thrown = false;
        try {
            step.on(this);
        } catch (InterruptedException e) {
            thrown = true;
        } catch (MmapQueueException e) {
            assertTrue(
                    mayReadArchive() && e.getCause() instanceof ClosedByInterruptException,
                    "an error of its own: " + e);
        }
        assertTrue(Thread.interrupted() != thrown, "an interrupt is pending, or was thrown");
    }

    // ---- writing

    void push(Push form, List<Integer> lengths) throws InterruptedException {
        List<byte[]> batch = new ArrayList<>();
        int count = switch (form) {
            case BATCH, LENGTHS, ONCE, REPEATED -> lengths.size();
            default -> 1;
        };
        for (int length : lengths.subList(0, count)) {
            batch.add(Payload.of(reference.end() + batch.size() + 1_000L * recoveries, length));
        }
        if (form == Push.REPEATED) {
            repeat(batch);
            return;
        }
        reference.uncertain.addAll(batch);
        try {
            if (form == Push.ONCE) {
                // Known from now on: a failed push may be in the log, with its sequence.
                reference.sequences.put(nextSequence(), reference.end() + count);
            }
            OptionalLong offset = pushed(form, batch);
            assertEquals(OptionalLong.of(reference.end()), offset);
            reference.log.addAll(batch);
            reference.uncertain.clear();
        } catch (InterruptedException e) {
            reference.notPushed();
            throw e;
        } catch (FullException e) {
            reference.notPushed();
            assertIsFull(batch);
            return;
        }
        if (form == Push.SYNC) {
            reference.durable = reference.end();
        }
    }

    private long nextSequence() {
        return queue().lastSequence(PRODUCER).orElse(-1) + 1;
    }

    private OptionalLong pushed(Push form, List<byte[]> batch) throws InterruptedException {
        byte[] first = batch.get(0);
        return switch (form) {
            case PLAIN -> OptionalLong.of(queue().push(first));
            case BUFFER -> OptionalLong.of(queue().push(ByteBuffer.wrap(first)));
            case OFFER -> {
                OptionalLong offset = queue().offer(first);
                if (offset.isEmpty()) {
                    throw new FullException("offer returned nothing");
                }
                yield offset;
            }
            case TIMED -> OptionalLong.of(queue().push(first, Duration.ZERO));
            case SYNC -> OptionalLong.of(queue().pushSync(first, Duration.ZERO));
            case ASYNC -> OptionalLong.of(async(first));
            case BATCH -> OptionalLong.of(queue().pushBatch(batch, Duration.ZERO));
            case LENGTHS ->
                OptionalLong.of(queue().pushBatch(
                                joined(batch),
                                0,
                                batch.stream().mapToInt(each -> each.length).toArray(),
                                batch.size(),
                                Duration.ZERO));
            case ONCE -> queue().pushOnce(PRODUCER, nextSequence(), batch, Duration.ZERO);
            case REPEATED -> throw new IllegalArgumentException("not a new record");
        };
    }

    // The future of a full queue would wait for room.
    private long async(byte[] record) {
        return needed(List.of(record)) < 0 ? queue().pushAsync(record).join() : queue().push(record);
    }

    private static byte[] joined(List<byte[]> batch) {
        int length = batch.stream().mapToInt(each -> each.length).sum();
        ByteBuffer all = ByteBuffer.allocate(length);
        batch.forEach(all::put);
        return all.array();
    }

    // A sequence that is in the log is refused, whatever its records are.
    private void repeat(List<byte[]> batch) throws InterruptedException {
        OptionalLong last = queue().lastSequence(PRODUCER);
        assertEquals(
                reference.sequences.isEmpty() ? OptionalLong.empty() : OptionalLong.of(reference.sequences.lastKey()),
                last);
        if (last.isPresent()) {
            assertEquals(OptionalLong.empty(), queue().pushOnce(PRODUCER, last.getAsLong(), batch, Duration.ZERO));
        }
    }

    private void assertIsFull(List<byte[]> batch) {
        assertTrue(needed(batch) >= 0, "full, and " + -needed(batch) + " bytes are free");
    }

    // Bytes that a batch certainly needs beyond those that are free; an estimate that is too large by some segments.
    private long needed(List<byte[]> batch) {
        int low = (int) queue().firstOffset();
        int shipped = 0;
        List<ConsumerStats> all = queue().consumerStats();
        if (!all.isEmpty()) {
            low = Integer.MAX_VALUE;
        }
        for (ConsumerStats each : all) {
            low = Math.min(low, (int) each.committedOffset());
            if (each.name().equals(SHIP) && limit == Limit.OVERFLOW) {
                shipped = (int) each.committedOffset();
            }
        }
        low = Math.max(low, shipped);
        long bytes = 0;
        for (byte[] each : reference.log.subList(Math.min(low, reference.end()), reference.end())) {
            bytes += each.length + 32;
        }
        for (byte[] each : batch) {
            bytes += each.length + 32;
        }
        long wasted = (4L + recoveries) * segmentSize + LARGEST;
        return bytes + wasted - (long) capacity * segmentSize;
    }

    void forgetProducer() {
        if (reference.sequences.isEmpty()) {
            return;
        }
        reference.mayForget = true;
        queue().forgetProducer(PRODUCER);
        reference.mayForget = false;
        reference.sequences.clear();
    }

    // ---- consuming

    private String nameOf(int choice) {
        List<String> names = new ArrayList<>(reference.consumers.keySet());
        return names.get(choice % names.size());
    }

    private Consumer handle(String name) {
        Consumer other = seconds.get(name);
        if (other != null && random.nextBoolean()) {
            return other;
        }
        return handles.computeIfAbsent(name, each -> queue().consumer(each, StartAt.LATEST));
    }

    private void assertIs(Message message) {
        assertTrue(message.offset() < reference.end(), "offset " + message.offset());
        assertArrayEquals(reference.log.get((int) message.offset()), message.data(), "record " + message.offset());
    }

    /** The forms of a pop. */
    enum Pop {
        POLL,
        HANDLER,
        TIMED,
        BATCH,
        /** In a batch, by a handler that now and then answers, pops or throws. */
        HANDLERS,
        LOOP,
        ASYNC
    }

    void pop(int choice, int count, Pop form) throws InterruptedException {
        String name = nameOf(choice);
        Reference.Reading reading = reference.consumers.get(name);
        Consumer handle = handle(name);
        int left = count;
        while (left > 0) {
            List<Message> popped = new ArrayList<>();
            try {
                if (form == Pop.HANDLERS) {
                    if (popInHandlers(choice, handle, left) == 0) {
                        reading.foundNone(reference.end());
                    }
                    return;
                }
                if (form == Pop.BATCH) {
                    popped.addAll(handle.popBatch(left, 10_000, Duration.ZERO));
                } else {
                    Message peeked = handle.peek();
                    Message message = popOne(handle, form, peeked != null);
                    if (message != null) {
                        popped.add(message);
                    } else if (Thread.currentThread().isInterrupted()) {
                        return; // which ends a loop
                    }
                    assertEquals(peeked == null ? -1 : peeked.offset(), message == null ? -1 : message.offset());
                }
            } catch (DroppedException e) {
                reading = reference.consumers.get(name); // a handler may have answered
                dropped(reading, e);
                continue;
            } catch (ArchiveUnavailableException e) {
                if (!isPurgedUnshipped()) {
                    throw e;
                }
                return; // until the next shipment has noted the gap
            }
            for (Message message : popped) {
                assertIs(message);
                reading.popped((int) message.offset());
            }
            if (popped.isEmpty()) {
                reading.foundNone(reference.end());
                return;
            }
            left -= popped.size();
        }
    }

    /** Thrown by a handler. */
    private static final class ThrownByHandler extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    // Returns how many records were popped, or -1 if the handler has thrown.
    private int popInHandlers(int choice, Consumer handle, int most) throws InterruptedException {
        String name = nameOf(choice);
        try {
            return handle.popBatch(most, 50_000, Duration.ZERO, (offset, micros, data, start, length, attempts) -> {
                int what = random.nextInt(16);
                if (what == 0) {
                    throw new ThrownByHandler();
                }
                if (what == 1) {
                    Message other = handle.poll(); // which comes after the records that were copied already
                    if (other != null) {
                        assertIs(other);
                        reference.consumers.get(name).popped((int) other.offset());
                    }
                }
                assertIs(new Message(offset, micros, Arrays.copyOfRange(data, start, start + length), attempts));
                reference.consumers.get(name).popped((int) offset);
                if (what == 2 || what == 3) {
                    answer(choice, what == 2 ? Answer.ACK_SINGLE : Answer.NACK, random.nextInt(1000));
                }
            });
        } catch (ThrownByHandler e) {
            return -1;
        }
    }

    private @Nullable Message popOne(Consumer handle, Pop form, boolean isAvailable) throws InterruptedException {
        return switch (form) {
            case POLL -> handle.poll();
            case HANDLER -> {
                List<Message> one = new ArrayList<>();
                boolean isPopped = handle.poll((offset, timestamp, data, start, length, attempts) -> one.add(
                        new Message(offset, timestamp, Arrays.copyOfRange(data, start, start + length), attempts)));
                assertEquals(isPopped ? 1 : 0, one.size());
                yield isPopped ? one.get(0) : null;
            }
            case TIMED -> handle.poll(Duration.ZERO);
            case LOOP -> {
                Iterator<Message> messages = handle.messages(Duration.ZERO).iterator();
                yield messages.hasNext() ? messages.next() : null;
            }
            case ASYNC -> {
                CompletableFuture<Message> future = handle.popAsync();
                // Without a record it would wait.
                if (isAvailable || !future.cancel(false)) {
                    yield joined(future);
                }
                untilPopsRest();
                yield null;
            }
            case BATCH, HANDLERS -> throw new IllegalArgumentException("not one record");
        };
    }

    // The thread of a cancelled pop may take a later record for a moment, before it releases it.
    private void untilPopsRest() {
        boolean interrupted = Thread.interrupted();
        Waiting.until(
                "the pops of a cancelled future rest",
                () -> ownThreads().stream()
                        .filter(thread -> thread.getName().endsWith("-pops"))
                        .allMatch(thread -> Waiting.isIn(thread, ThreadPoolExecutor.class, "poll")));
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static Message joined(CompletableFuture<Message> future) {
        try {
            return future.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof DroppedException dropped) {
                throw dropped;
            }
            throw e;
        }
    }

    private void dropped(Reference.Reading reading, DroppedException e) {
        assertTrue(
                switch (limit) {
                    case NONE, RETAIN -> false;
                    case LAG -> true;
                    case AGE -> areAged((int) e.first(), (int) e.last() + 1);
                    // What was lost or purged before the archive begins.
                    case OVERFLOW -> inArchive.isEmpty() || e.last() < inArchive.first();
                },
                "dropped without a limit, or a record that is younger than " + AGE + ", or that the archive has: "
                        + e.getMessage());
        reading.dropped((int) e.last());
    }

    // Whether max_age may drop these records. A lost one has no time.
    private boolean areAged(int from, int to) {
        return IntStream.range(from, to).allMatch(each -> each < aged || reference.lost.contains(each));
    }

    /** What a consumer does with one of the records that it has in flight. */
    enum Answer {
        ACK,
        ACK_SINGLE,
        NACK,
        RELEASE
    }

    void answer(int choice, Answer answer, int which) {
        String name = nameOf(choice);
        Reference.Reading reading = reference.consumers.get(name);
        if (reading.inFlight.isEmpty()) {
            return;
        }
        int offset = new ArrayList<>(reading.inFlight).get(which % reading.inFlight.size());
        Consumer handle = handle(name);
        Reference.Reading after = reading.copy();
        switch (answer) {
            case ACK -> after.ack(offset);
            case ACK_SINGLE -> after.ackSingle(offset);
            case NACK, RELEASE -> after.inFlight.remove(offset);
        }
        Message message = new Message(offset, 0, new byte[0], 1);
        boolean byMessage = which % 2 == 0;
        try {
            switch (answer) {
                case ACK -> {
                    if (byMessage) {
                        handle.ackUpTo(message);
                    } else {
                        handle.ackUpTo(offset);
                    }
                }
                case ACK_SINGLE -> {
                    if (byMessage) {
                        handle.ack(message);
                    } else {
                        handle.ack(offset);
                    }
                }
                case NACK -> {
                    if (byMessage) {
                        handle.nack(message);
                    } else {
                        handle.nack(offset);
                    }
                }
                case RELEASE -> handle.release(new long[] {offset});
            }
            reference.consumers.put(name, after);
        } catch (DroppedException e) {
            dropped(reading, e);
        } catch (MmapQueueException e) {
            reading.mayBe(after);
            throw e;
        }
    }

    void seek(int choice, StartAt.Kind kind, int which) {
        String name = nameOf(choice);
        Reference.Reading reading = reference.consumers.get(name);
        int first = first();
        int target = first + which % (reference.end() - first + 1);
        Consumer handle = handle(name);
        Reference.Reading after = reading.copy();
        after.moved(
                switch (kind) {
                    case EARLIEST -> (int) queue().firstOffset();
                    case LATEST -> reference.end();
                    default -> target;
                });
        try {
            handle.seek(
                    switch (kind) {
                        case EARLIEST -> StartAt.EARLIEST;
                        case LATEST -> StartAt.LATEST;
                        default -> StartAt.offset(target);
                    });
            reference.consumers.put(name, after);
        } catch (DroppedException e) {
            dropped(reading, e);
        } catch (MmapQueueException e) {
            reading.mayBe(after);
            throw e;
        }
    }

    void create(String name, StartAt start) {
        if (!reference.consumers.containsKey(name)) {
            int at = start.equals(StartAt.LATEST) ? reference.end() : (int) queue().firstOffset();
            reference.consumers.put(name, reference.reading(at));
        }
        reference.unsure.add(name);
        queue().createConsumer(name, start);
        reference.unsure.clear();
    }

    void delete(int choice) {
        if (reference.consumers.size() > 1) {
            String name = nameOf(choice);
            handles.remove(name);
            seconds.remove(name);
            reference.unsure.add(name);
            queue().deleteConsumer(name);
            reference.unsure.clear();
            reference.consumers.remove(name);
            hasDeleted = true;
        }
    }

    /** A consumer is deleted, and another one gets its name: nothing of the old one is left. */
    void recreate(int choice, StartAt start) {
        String name = nameOf(choice);
        Consumer old = handles.get(name);
        Consumer shared = seconds.get(name);
        if (reference.consumers.size() > 1) {
            delete(choice);
            create(name, start);
            assertIsGone(old);
            assertIsGone(shared);
        }
    }

    void closeConsumer(int choice) {
        String name = nameOf(choice);
        Consumer open = handles.remove(name);
        if (open != null) {
            open.close();
            assertIsGone(seconds.remove(name));
            reference.consumers.get(name).closed();
        }
    }

    private static void assertIsGone(@Nullable Consumer closed) {
        if (closed != null) {
            assertThrows(ClosedException.class, closed::peek);
        }
    }

    // ---- a second handle in the same process

    /** A second handle opens a consumer, or uses it. */
    void share(int choice) {
        MmapQueue other = second;
        if (other == null) {
            other = disk.open(config().build());
            second = other;
        }
        MmapQueue used = other;
        seconds.computeIfAbsent(nameOf(choice), each -> used.consumer(each, StartAt.LATEST));
    }

    /** One of the handles leaves a consumer: what is in flight stays so if the other one uses it. */
    void leave(int choice, boolean isSecond, boolean isShared) {
        String name = nameOf(choice);
        if (isShared) {
            share(choice);
            handles.computeIfAbsent(name, each -> queue().consumer(each, StartAt.LATEST));
        }
        Consumer left = (isSecond ? seconds : handles).remove(name);
        if (left == null) {
            return;
        }
        long inFlight = left.unacked();
        left.leave();
        assertIsGone(left);
        Consumer other = (isSecond ? handles : seconds).get(name);
        if (other != null) {
            assertEquals(inFlight, other.unacked());
        } else {
            reference.consumers.get(name).closed();
        }
    }

    /** The second handle is closed, which leaves its consumers open. */
    void closeSecond() {
        seconds.clear();
        MmapQueue open = second;
        if (open != null) {
            second = null;
            open.close();
        }
    }

    // ---- the whole queue

    void flush() {
        queue().flush();
        reference.flushed();
    }

    void gc() {
        queue().gc();
    }

    void purge() {
        if (limit == Limit.OVERFLOW) {
            if (isReplaced) {
                return; // what is purged counts as shipped, and the archive has other records there
            }
            assertThrows(ConfigException.class, queue()::purge);
            close();
            queue = disk.open(plain().build());
        }
        noteMissed(reference.end());
        int end = reference.end();
        Map<String, Reference.Reading> before = Map.copyOf(reference.consumers);
        before.forEach((name, reading) -> {
            Reference.Reading after = reading.copy();
            after.ack(end - 1);
            reading.mayBe(after);
            reference.consumers.put(name, after);
        });
        try {
            queue().purge();
        } catch (MmapQueueException e) {
            reference.consumers.putAll(before); // of which each may be purged
            throw e;
        }
        if (limit == Limit.OVERFLOW) {
            reopen();
        }
    }

    private boolean isPurgedUnshipped() {
        return limit == Limit.OVERFLOW && reference.missed.stream().anyMatch(each -> inArchive.higher(each) == null);
    }

    // Records that consumer ship skips are in no archive.
    private void noteMissed(int to) {
        for (int offset = reference.shipped; offset < to; offset++) {
            reference.missed.add(offset);
            if (limit == Limit.OVERFLOW) {
                reference.halved.add(offset);
            }
        }
    }

    void dropAged() {
        if (limit == Limit.AGE) {
            TestDisk.dropAged(queue());
        }
    }

    void read(int which, int count) {
        int first = first();
        if (first == reference.end()) {
            return;
        }
        int from = first + which % (reference.end() - first);
        int ring = (int) queue().firstOffset();
        if (from < ring && !inArchive.contains(from)) {
            assertThrows(MmapQueueException.class, () -> queue().getMany(from, count));
            return;
        }
        boolean isInArchiveAlone = from >= ring && isLost(from) && mayReadArchive() && inArchive.contains(from);
        if (from >= ring && isLost(from) && !isInArchiveAlone) {
            MmapQueueException e = assertThrows(MmapQueueException.class, () -> queue().getMany(from, count));
            boolean isInterrupted = mayReadArchive() && e.getCause() instanceof ClosedByInterruptException;
            assertTrue(e instanceof OutOfRangeException || isInterrupted, "an error of its own: " + e);
            return;
        }
        List<Message> messages = queue().getMany(from, count);
        boolean isOlder = from < ring || isInArchiveAlone; // a call ends where a file of the archive does, too
        int most = Math.min(count, isOlder ? reference.end() - from : upTo(from) - from);
        boolean mayBeLess = mayFail || isOlder;
        assertTrue(messages.size() == most || mayBeLess && messages.size() < most, messages.size() + " of " + most);
        messages.forEach(this::assertIs);
        if (isInArchiveAlone) {
            return; // find passes what is lost between records of the ring
        }
        long micros = messages.get(0).timestampMicros();
        long found = queue().find(Micros.instant(micros)).orElse(-1);
        assertTrue(
                found >= first && found <= from && queue().get(found).timestampMicros() == micros,
                "found " + found + " for the time of " + from);
    }

    // Whether the ring has lost a record.
    private boolean isLost(int offset) {
        return reference.lost.contains(offset) || reference.halved.contains(offset);
    }

    // The end of the records from one on, before a lost one.
    private int upTo(int from) {
        return IntStream.range(from, reference.end())
                .filter(this::isLost)
                .findFirst()
                .orElse(reference.end());
    }

    void reopen() {
        close();
        open();
    }

    /** Closes the queue; all is durable then. */
    @Override
    public void close() {
        closeSecond();
        MmapQueue open = queue;
        if (open != null) {
            handles.clear();
            open.close();
            queue = null;
            reference.flushed();
            reference.consumers.values().forEach(Reference.Reading::closed);
        }
    }

    /** The process is killed; the page cache survives. */
    void kill() {
        kill(false);
    }

    private void kill(boolean afterFault) {
        Path copy = next();
        Directories.copy(directory, copy);
        abandon();
        directory = copy;
        changeDisk();
        recover(false, afterFault);
    }

    /** The power fails; what was not fsynced survives by chance. */
    void losePower(int percent) throws IOException {
        Path copy = next();
        disk.lose(directory, copy, random, percent);
        abandon();
        directory = copy;
        boot++;
        changeDisk();
        recover(true, true);
    }

    private void abandon() {
        handles.clear();
        seconds.clear();
        abandon(second);
        second = null;
        abandon(queue);
        queue = null;
        Directories.delete(directory);
    }

    private static void abandon(@Nullable MmapQueue open) {
        if (open != null) {
            try {
                open.close();
            } catch (MmapQueueException e) {
                assertTrue(isInjected(e) || e.getMessage().contains("earlier"), e.toString());
            }
        }
    }

    // After a loss of power or a failed call, a consumer may be where it was before.
    private void recover(boolean lostPower, boolean mayBeBack) {
        recoveries++;
        open();
        int end = (int) queue().endOffset();
        int durable = reference.durable;
        reference.endsAt(end, lostPower);
        reference
                .consumers
                .keySet()
                .removeIf(name ->
                        reference.unsure.contains(name) && !queue().consumers().contains(name));
        reference.unsure.clear();
        for (ConsumerStats each : queue().consumerStats()) {
            Reference.Reading reading = reference.consumers.get(each.name());
            if (reading != null) {
                reading.crashed();
                commits(reading, (int) each.committedOffset(), mayBeBack);
            }
        }
        assertTrue(end >= reference.shipped, "the log was cut to " + end + ", but the archive ends later");
        OptionalLong last = queue().lastSequence(PRODUCER);
        if (lostPower) {
            // The record of a push without sync may survive without its sequence.
            reference
                    .sequences
                    .entrySet()
                    .removeIf(each -> each.getValue() > durable && last.orElse(-1) < each.getKey());
        }
        if (reference.mayForget && last.isEmpty()) {
            reference.sequences.clear();
        }
        reference.mayForget = false;
        assertEquals(
                reference.sequences.isEmpty() ? OptionalLong.empty() : OptionalLong.of(reference.sequences.lastKey()),
                last,
                "the last sequence follows the log");
        reference.flushed();
    }

    // ---- the closed directory

    void verify() {
        close();
        assertIsWhole();
        open();
    }

    private void assertIsWhole() {
        VerifyReport report = Verifier.verify(directory, Progress.NONE);
        assertTrue(report.isWhole(), () -> report.findings().toString());
    }

    void repair(boolean resetClock) {
        close();
        assertEquals(
                List.of(),
                Repairer.repairInPlace(directory, resetClock, Progress.NONE).lost());
        changedOutside();
    }

    /** Inverts bits of a record, or of the header of its segment: that record alone is lost, or none. */
    void damage(int which, boolean header, int at) throws IOException {
        int first = (int) queue().firstOffset();
        if (first == reference.end()) {
            return;
        }
        int offset = first + which % (reference.end() - first);
        close();
        StoredRecords.Stored stored = StoredRecords.find(directory, offset);
        if (stored == null) {
            open();
            return;
        }
        int bits = 1 << at % 8;
        if (header) {
            Directories.flip(stored.segment(), at % StoredRecords.HEADER, bits);
            giveUp(first);
        } else {
            Directories.flip(stored.segment(), stored.at() + at % stored.bytes(), bits);
            giveUp(first, offset);
        }
    }

    /** A caller changes its payloads while it pushes them, and the queue ends: they alone are lost. */
    void changed(List<Integer> lengths, boolean isKilled) throws InterruptedException {
        List<byte[]> batch = new ArrayList<>();
        for (int length : lengths) {
            batch.add(Payload.of(reference.end() + batch.size(), Math.max(1, length)));
        }
        if (needed(batch) >= 0) {
            return; // perhaps full
        }
        TestDisk.push(queue(), new ChangingRecords(batch.toArray(new byte[0][])));
        List<Integer> changed = new ArrayList<>();
        for (byte[] each : batch) {
            changed.add(reference.end());
            reference.log.add(each);
        }
        push(Push.BATCH, lengths);
        if (isKilled) {
            kill();
        }
        int first = (int) queue().firstOffset();
        close();
        giveUp(first, changed.stream().mapToInt(Integer::intValue).toArray());
    }

    // Repairs the closed directory, in which these records are damaged. Those before the first retained one may be,
    // too: a loss of power may leave anything of acked records.
    private void giveUp(int first, int... offsets) {
        assertFalse(Verifier.verify(directory, Progress.NONE).isWhole());
        TreeSet<Integer> lost = new TreeSet<>();
        Repairer.repairInPlace(directory, false, Progress.NONE)
                .lost()
                .forEach(each -> IntStream.rangeClosed((int) each.firstLost(), (int) each.lastLost())
                        .forEach(lost::add));
        TreeSet<Integer> expected = new TreeSet<>();
        IntStream.of(offsets).forEach(expected::add);
        assertEquals(expected, lost.tailSet(first));
        lost.forEach(each -> reference.lose(each, limit == Limit.OVERFLOW && inArchive.contains(each)));
        changedOutside();
    }

    void resize(int segments, int size) {
        close();
        try {
            Copier.resize(directory, new RingSize((long) segments * size, size), Progress.NONE);
            capacity = segments;
            segmentSize = size;
        } catch (MmapQueueException e) {
            assertTrue(e instanceof ConfigException && e.getMessage().contains("capacity"), e.toString());
        }
        changedOutside();
    }

    void copy(int segments, int size) {
        close();
        Path copy = next();
        try {
            Copier.copy(directory, copy, new RingSize((long) segments * size, size), Progress.NONE);
            assertEquals(QueueContent.of(directory, next()), QueueContent.of(copy, next()));
            Directories.delete(copy);
        } catch (ConfigException e) {
            assertTrue(e.getMessage().contains("capacity"), e.toString());
        }
        open();
    }

    private void changedOutside() {
        assertIsWhole();
        changeDisk();
        open();
    }

    /** Records since an offset get times a year ahead, as if the clock had been wrong. */
    void clockAhead(int which) throws IOException {
        if (reference.shipped == reference.end()) {
            return; // an archive keeps the times
        }
        restamp(which, Duration.ofDays(365).toSeconds() * SECOND, false);
    }

    /** Records before an offset get times before max_age. */
    void age(int which) throws IOException {
        if (limit != Limit.AGE) {
            return;
        }
        aged = Math.max(aged, restamp(which, -2 * AGE.toSeconds() * SECOND, true));
    }

    private int restamp(int which, long micros, boolean before) throws IOException {
        int first = Math.max((int) queue().firstOffset(), reference.shipped);
        if (first == reference.end()) {
            return 0;
        }
        int offset = first + which % (reference.end() - first);
        if (isLost(offset) || isLost(first - 1)) {
            return 0; // it has no time
        }
        long middle = queue().get(offset).timestampMicros();
        if (queue().firstOffset() < first && queue().get(first - 1).timestampMicros() == middle) {
            return 0; // a record that was shipped has the same time
        }
        close();
        Repairer.restamp(directory, old -> (before ? old < middle : old >= middle) ? old + micros : old);
        changedOutside();
        return offset;
    }

    /**
     * A backup.
     *
     * @param isShipped whether the queue was shipped since
     */
    private record Backup(
            Path directory,
            Reference reference,
            int segmentSize,
            int capacity,
            int aged,
            URI archive,
            boolean isShipped) {
        Backup shipped() {
            return new Backup(directory, reference, segmentSize, capacity, aged, archive, true);
        }
    }

    /** Keeps a copy of the directory, instead of the last one. */
    void backUp() {
        close();
        Path copy = Directories.copy(directory, next());
        if (backup != null) {
            Directories.delete(backup.directory);
        }
        backup = new Backup(copy, reference.copy(), segmentSize, capacity, aged, archive, false);
        open();
    }

    /** Replaces the directory by its backup: a queue that was shipped since is shipped no more. */
    void restore() {
        Backup kept = backup;
        if (kept == null) {
            return;
        }
        close();
        backup = null;
        Directories.delete(directory);
        directory = kept.directory;
        reference = kept.reference;
        segmentSize = kept.segmentSize;
        capacity = kept.capacity;
        aged = kept.aged;
        isReplaced |= kept.isShipped;
        if (!archive.equals(kept.archive)) {
            archive = kept.archive;
            changedAt = 0;
            inArchive.clear();
        }
        if (isReplaced) {
            former.clear();
        }
        changedOutside();
    }

    /** Another handle, which may only read, with a consumer of its own. */
    void readOnly(int choice, int count) throws InterruptedException {
        close();
        QueueConfig.Builder config = plain().readOnly(true);
        // What a purge has acked before it was shipped is a gap, and a consumer moved before it passes it if told so.
        queue = MmapQueue.open((limit == Limit.OVERFLOW ? config.onDamage("skip") : config).build());
        try {
            read(choice, count);
            pop(choice, count, Pop.POLL);
            answer(choice, Answer.ACK, choice);
        } finally {
            close();
        }
        changeDisk();
        open();
    }

    // ---- the archive

    // A queue that is shipped has claimed its archive: an older copy of its directory has not.
    private void noteShipped() {
        if (backup != null && !isReplaced) {
            backup = backup.shipped();
        }
    }

    /** The queue is shipped into another archive from now on, from its first record that was not shipped on. */
    void changeArchive() throws IOException {
        if (limit == Limit.LAG || limit == Limit.AGE) {
            return;
        }
        List<ConsumerStats> stats = queue().consumerStats();
        boolean isBehind = stats.stream().anyMatch(each -> each.archivedRecords() > 0);
        long first = queue().firstOffset(); // an archive begins with all that the ring has
        close();
        Path link = directory.resolve(ArchiveLink.FILE_NAME);
        byte[] before = Files.exists(link) ? Files.readAllBytes(link) : new byte[0];
        URI next = nextArchive();
        QueueConfig config = plain().archiveUri(next).archiveHost("host").build();
        if (isBehind) {
            String text = assertThrows(MmapQueueException.class, () -> MmapQueue.changeArchive(config, false))
                    .getMessage();
            assertTrue(text.contains("only the archive has"), text);
            assertArrayEquals(before, Files.readAllBytes(link));
        } else {
            noteShipped();
            assertTrue(MmapQueue.changeArchive(config, false));
            assertFalse(MmapQueue.changeArchive(config, false));
            if (isReplaced) {
                former.clear(); // which have records of another history
            } else {
                former.add(archive);
            }
            isReplaced = false;
            archive = next;
            changedAt = first;
            inArchive.clear();
        }
        changedOutside();
    }

    void ship(Shipping how, List<Integer> lengths) throws InterruptedException {
        if (limit == Limit.LAG || limit == Limit.AGE) {
            return; // refused beside an archive
        }
        close();
        noteShipped();
        QueueConfig.Builder shipping = shipping(config());
        if (how == Shipping.KILLED_BEFORE_THE_ACK && !isReplaced) {
            shipping.shipPeriod(Duration.ofHours(1));
        } else {
            shipping.shipPeriod(Duration.ofMillis(5));
        }
        MmapQueue open = MmapQueue.open(shipping.build());
        queue = open;
        Path before = null;
        try {
            switch (how) {
                case CLOSES_AT_ONCE -> {}
                case THREADS_ARE_INTERRUPTED -> {
                    ownThreads().forEach(Thread::interrupt);
                    push(Push.BATCH, lengths);
                    awaitShipped(open);
                }
                case WAITS -> {
                    push(Push.BATCH, lengths);
                    awaitShipped(open);
                }
                case OVERFLOWS -> {
                    push(Push.BATCH, lengths);
                    awaitShipped(open);
                    overflow(open);
                }
                case KILLED_BEFORE_THE_ACK -> {
                    awaitShipped(open);
                    if (isReplaced) {
                        break;
                    }
                    Waiting.until(
                            "a shipment begins",
                            () -> open.shipStats().orElseThrow().hasBegun());
                    push(Push.BATCH, lengths);
                    flush();
                    before = copyAtRest();
                }
            }
        } finally {
            close();
        }
        Waiting.until(
                "no thread of the queue runs: " + ownThreads(),
                () -> ownThreads().isEmpty());
        if (!isReplaced) {
            archived = List.copyOf(reference.log);
        }
        if (before != null) {
            reference.shipped = reference.end();
            Directories.delete(directory);
            directory = before;
            recoveries++;
        }
        changeDisk();
        open();
        checkArchive();
    }

    // Pushes until the ring has given up all that it has now.
    private void overflow(MmapQueue open) throws InterruptedException {
        if (limit != Limit.OVERFLOW || isReplaced) {
            return;
        }
        int end = reference.end();
        while (open.firstOffset() < end) {
            push(Push.BATCH, Collections.nCopies(segmentSize / OVERFLOWING, OVERFLOWING));
            awaitShipped(open);
        }
    }

    // A kill stops all threads of the queue at once.
    private Path copyAtRest() {
        Path copy = next();
        Map<String, String> then;
        do {
            if (Files.exists(copy)) {
                Directories.delete(copy);
            }
            then = Directories.fingerprint(directory);
            Directories.copyOpen(directory, copy, segmentSize);
        } while (!then.equals(Directories.fingerprint(directory)));
        return copy;
    }

    private void awaitShipped(MmapQueue open) throws InterruptedException {
        if (reference.end() == 0) {
            return;
        }
        if (isReplaced) {
            // A wait for records that a purge has acked may end before the shipper has found the other records.
            Waiting.until(
                    "the shipper of a queue that was replaced ends",
                    () -> open.shipStats().orElseThrow().hasEnded());
            assertTrue(open.shipStats().orElseThrow().failure().isPresent());
        } else {
            assertTrue(open.awaitShipped(reference.end() - 1, Waiting.LONG), "shipped within " + Waiting.LONG);
            reference.shipped = reference.end();
        }
    }

    private List<Thread> ownThreads() {
        String beginning = "mmapqueue-" + directory.getFileName() + "-";
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(beginning) && thread.isAlive())
                .toList();
    }

    // Every record of the archive is that of the queue, and all that were reported as shipped are there.
    private void checkArchive() {
        if (!Files.exists(Path.of(archive).resolve("archive.properties"))) {
            assertEquals(0, reference.shipped, "no archive");
            return;
        }
        inArchive.clear();
        inArchive.addAll(offsets(archive));
        assertTrue(inArchive.isEmpty() || inArchive.first() >= changedAt, "a record before " + changedAt);
        TreeSet<Integer> found = new TreeSet<>(inArchive);
        former.forEach(each -> found.addAll(offsets(each)));
        int from = found.isEmpty() ? reference.shipped : found.first();
        for (int offset = from; offset < reference.shipped; offset++) {
            assertTrue(
                    found.contains(offset) || reference.missed.contains(offset),
                    "record " + offset + " was shipped, and is not in the archive");
        }
    }

    // The offsets of the records of an archive, which are those of the queue.
    private TreeSet<Integer> offsets(URI uri) {
        TreeSet<Integer> found = new TreeSet<>();
        if (!Files.exists(Path.of(uri).resolve("archive.properties"))) {
            return found;
        }
        try (Archive opened = Archive.open(Archives.files(uri))) {
            for (PartitionEntry entry : opened.partitions()) {
                ArchivePartition partition = opened.partition(entry);
                partition.refresh();
                try (ArchiveReader reader =
                        partition.reader(partition.firstOffset(), partition.endOffset(), false, true)) {
                    while (reader.read(100, 1 << 20, (offset, micros, data, start, length, attempts) -> {
                                assertArrayEquals(
                                        archived.get((int) offset),
                                        Arrays.copyOfRange(data, start, start + length),
                                        "record " + offset + " of the archive");
                                assertTrue(found.add((int) offset), "record " + offset + " is in the archive twice");
                            })
                            > 0) {}
                }
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return found;
    }

    // A limit drops records of a consumer, which learns of that with its next call.
    private void commits(Reference.Reading reading, int found, boolean mayBeBack) {
        boolean mayDrop = switch (limit) {
            case NONE, RETAIN, OVERFLOW -> false;
            case LAG -> found <= reference.end();
            case AGE -> areAged(reading.committed(), found);
        };
        if (found > reading.committed() && mayDrop) {
            reading.dropped(found - 1);
        }
        reading.commitsAt(found, reference.end(), mayBeBack);
    }

    // ---- what holds after every step

    void check() {
        int end = reference.end();
        assertEquals(end, queue().endOffset());
        long first = queue().firstOffset();
        assertTrue(first <= end, "first " + first);
        List<String> names = new ArrayList<>();
        for (ConsumerStats each : queue().consumerStats()) {
            if (!each.name().equals(SHIP)) {
                names.add(each.name());
                Reference.Reading reading = reference.consumers.get(each.name());
                assertTrue(reading != null, "consumer " + each.name() + " exists");
                commits(reading, (int) each.committedOffset(), false);
                // Records may be acked out of order, or lost.
                assertTrue(each.lagRecords() <= end - each.committedOffset(), each.toString());
            }
        }
        assertEquals(
                new ArrayList<>(reference.consumers.keySet()),
                names.stream().sorted().toList());
        assertTrue(reference.durable <= end);
    }

    /** Pops and acks all that is left, and closes. */
    void finish() throws InterruptedException {
        if (isPurgedUnshipped()) {
            ship(Shipping.WAITS, List.of(0));
        }
        for (int choice = 0; choice < reference.consumers.size(); choice++) {
            Reference.Reading reading = reference.consumers.get(nameOf(choice));
            pop(choice, Integer.MAX_VALUE, Pop.BATCH);
            if (!reading.inFlight.isEmpty()) {
                answer(choice, Answer.ACK, reading.inFlight.size() - 1);
            }
        }
        check();
        close();
        assertIsWhole();
    }
}
