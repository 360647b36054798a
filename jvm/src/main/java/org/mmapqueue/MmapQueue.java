package org.mmapqueue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.mmapqueue.core.OpenQueues;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.write.Writer;

/**
 * A big, fast, persistent queue in a directory of memory-mapped files.
 *
 * <pre>{@code
 * try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(Path.of("events")).build())) {
 *     queue.push("one".getBytes(UTF_8));
 *     Message message = queue.pop();
 *     queue.ack(message.offset());
 * }
 * }</pre>
 *
 * <p>When push returns, the record survives the death of the process; when {@link #flush} or {@link #pushSync} returns,
 * or flush_period has passed, a loss of power too. What was popped and not acked is popped again after the next open.
 *
 * <p>This object is a handle: opening a directory again in the same process gives another handle of the same queue,
 * and the last one closes it. Any number of threads may use a handle.
 */
public final class MmapQueue implements AutoCloseable {
    private final QueueCore core;
    private final boolean readOnly;
    private volatile Consumer defaultConsumer;
    private volatile boolean closed;
    private final BooleanSupplier gone = () -> closed;

    MmapQueue(QueueCore core, boolean readOnly) {
        this.core = core;
        this.readOnly = readOnly;
    }

    /**
     * Opens the queue in a directory; makes a new one where there is none, recovers one that was not closed.
     *
     * @param config where, and with what
     * @return a handle, to be closed
     * @throws org.mmapqueue.errors.LockedException when another process writes it
     * @throws org.mmapqueue.errors.ConfigException when a value is out of range or not what the queue was made with
     * @throws org.mmapqueue.errors.CorruptException when it is damaged; it is left as it is
     * @throws MmapQueueException when a file can not be opened
     */
    public static MmapQueue open(QueueConfig config) {
        return new MmapQueue(OpenQueues.acquire(config.values()), false);
    }

    /**
     * Opens a queue that is there, to read it. When this process has the queue open already, the handle shares it, with
     * its configuration; when not, the queue is opened with read_only = true, so that any process may write it, this
     * one included.
     *
     * @param directory where it lies
     * @return a handle that pushes nothing, to be closed
     * @throws org.mmapqueue.errors.ConfigException when its format version is 1 and this process does not write it
     * @throws org.mmapqueue.errors.CorruptException when it is damaged; it is left as it is
     * @throws MmapQueueException when there is none, or a file can not be opened
     */
    public static MmapQueue openToRead(Path directory) {
        return new MmapQueue(OpenQueues.acquireToRead(Objects.requireNonNull(directory, "directory")), true);
    }

    /**
     * Tells a listener which queues this process has open, and from now on which it opens and closes.
     *
     * @param listener is kept until it is removed
     */
    public static void addListener(QueueListener listener) {
        OpenQueues.add(Objects.requireNonNull(listener, "listener"));
    }

    /**
     * Tells a listener no more.
     *
     * @param listener one that was added
     */
    public static void removeListener(QueueListener listener) {
        OpenQueues.remove(listener);
    }

    private Writer writer() {
        QueueCore open = core();
        if (readOnly) {
            throw new MmapQueueException("the queue in " + open.directory() + " was opened to be read only");
        }
        return open.writer();
    }

    private QueueCore core() {
        if (closed) {
            throw new ClosedException("this handle of the queue is closed");
        }
        return core;
    }

    /**
     * Appends a record.
     *
     * @param data its bytes
     * @return its offset: 0, 1, 2, …
     * @throws org.mmapqueue.errors.FullException when there is no room now
     * @throws org.mmapqueue.errors.TooLargeException when it is larger than max_event_size
     * @throws org.mmapqueue.errors.PoisonedException when an earlier failure made the writer unsafe
     */
    public long push(byte[] data) {
        return writer().push(data, 0, data.length);
    }

    /**
     * Appends a record.
     *
     * @param data holds its bytes
     * @param from index of the first one
     * @param length number of bytes
     * @return its offset
     * @throws IndexOutOfBoundsException when the array does not hold them
     * @throws org.mmapqueue.errors.FullException when there is no room now
     * @throws org.mmapqueue.errors.TooLargeException when it is larger than max_event_size
     */
    public long push(byte[] data, int from, int length) {
        Objects.checkFromIndexSize(from, length, data.length);
        return writer().push(data, from, length);
    }

    /**
     * Appends a record.
     *
     * @param data its bytes from position to limit; the position is moved to the limit
     * @return its offset
     * @throws org.mmapqueue.errors.FullException when there is no room now
     * @throws org.mmapqueue.errors.TooLargeException when it is larger than max_event_size
     */
    public long push(ByteBuffer data) {
        long offset;
        if (data.hasArray()) {
            offset = writer().push(data.array(), data.arrayOffset() + data.position(), data.remaining());
        } else {
            byte[] copy = copyOf(data);
            offset = writer().push(copy, 0, copy.length);
        }
        data.position(data.limit());
        return offset;
    }

    /**
     * Appends a record, waiting for room.
     *
     * @param data its bytes
     * @param timeout the longest to wait
     * @return its offset
     * @throws InterruptedException when interrupted; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room in time
     * @throws org.mmapqueue.errors.TooLargeException when it is larger than max_event_size
     */
    public long push(byte[] data, Duration timeout) throws InterruptedException {
        return writer().push(data, 0, data.length, nanos(timeout), gone);
    }

    /**
     * Appends a record, waiting for room.
     *
     * @param data its bytes from position to limit; the position is moved to the limit
     * @param timeout the longest to wait
     * @return its offset
     * @throws InterruptedException when interrupted; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room in time
     * @throws org.mmapqueue.errors.TooLargeException when it is larger than max_event_size
     */
    public long push(ByteBuffer data, Duration timeout) throws InterruptedException {
        byte[] copy = copyOf(data);
        long offset = writer().push(copy, 0, copy.length, nanos(timeout), gone);
        data.position(data.limit());
        return offset;
    }

    /**
     * Appends a record and returns when it is on the disk. Threads that do so at once share the fsync.
     *
     * @param data its bytes
     * @param timeout the longest to wait for room
     * @return its offset
     * @throws InterruptedException when interrupted while waiting for room; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room in time
     * @throws org.mmapqueue.errors.PoisonedException when the fsync fails: whether the record is on the disk is open
     */
    public long pushSync(byte[] data, Duration timeout) throws InterruptedException {
        long offset = writer().push(data, 0, data.length, nanos(timeout), gone);
        core.writer().awaitDurable();
        return offset;
    }

    /**
     * Appends records that become visible together, or not at all, whatever happens.
     *
     * @param batch the records' bytes
     * @return the first one's offset; the others follow it
     * @throws org.mmapqueue.errors.FullException when there is no room for all of them now
     * @throws org.mmapqueue.errors.TooLargeException when one is larger than max_event_size, or all than the ring
     */
    public long pushBatch(List<byte[]> batch) {
        return writer().push(Records.of(batch));
    }

    /**
     * Appends records that become visible together, or not at all, waiting for room.
     *
     * @param batch the records' bytes
     * @param timeout the longest to wait
     * @return the first one's offset; the others follow it
     * @throws InterruptedException when interrupted; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room for all of them in time
     * @throws org.mmapqueue.errors.TooLargeException when one is larger than max_event_size, or all than the ring
     */
    public long pushBatch(List<byte[]> batch, Duration timeout) throws InterruptedException {
        return writer().push(Records.of(batch), nanos(timeout), gone);
    }

    /**
     * Appends records that lie back to back in one array; they become visible together, or not at all.
     *
     * @param buffer holds the records
     * @param from index of the first one's first byte
     * @param lengths the records' lengths in bytes
     * @param count how many of the lengths count
     * @param timeout the longest to wait for room
     * @return the first one's offset; the others follow it
     * @throws InterruptedException when interrupted; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room for all of them in time
     * @throws org.mmapqueue.errors.TooLargeException when one is larger than max_event_size, or all than the ring
     */
    public long pushBatch(byte[] buffer, int from, int[] lengths, int count, Duration timeout)
            throws InterruptedException {
        return writer().push(Records.packed(buffer, from, lengths, count), nanos(timeout), gone);
    }

    /**
     * Appends records that become visible together, or not at all.
     *
     * @param batch gives the records; called before the push takes a lock
     * @param timeout the longest to wait for room
     * @return the first one's offset; the others follow it
     * @throws InterruptedException when interrupted; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room for all of them in time
     * @throws org.mmapqueue.errors.TooLargeException when one is larger than max_event_size, or all than the ring
     * @throws IllegalArgumentException when a length is below 0
     * @throws IndexOutOfBoundsException when an array does not hold its payload
     */
    public long pushBatch(Records batch, Duration timeout) throws InterruptedException {
        return writer().push(HeapRecords.fetch(batch), nanos(timeout), gone);
    }

    /**
     * Appends a batch unless the producer has pushed it before, so that what is tried again is there once; see
     * {@link #pushOnce(String, long, Records, Duration, boolean)}, without sync.
     *
     * @param producer 1 to 100 letters, digits, '_', '-' or '.'
     * @param sequence the batch's number, 0 or more, higher than those before
     * @param batch the records' bytes
     * @param timeout the longest to wait for room
     * @return the first one's offset; -1 when the producer's batch of this or a higher sequence is in the queue already
     * @throws InterruptedException when interrupted; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room for all of them in time
     * @throws org.mmapqueue.errors.TooLargeException when one is larger than max_event_size, or all than the ring
     */
    public long pushOnce(String producer, long sequence, List<byte[]> batch, Duration timeout)
            throws InterruptedException {
        return pushOnce(producer, sequence, Records.of(batch), timeout, false);
    }

    /**
     * Appends a batch unless the producer has pushed it before; see
     * {@link #pushOnce(String, long, Records, Duration, boolean)}, without sync.
     *
     * @param producer 1 to 100 letters, digits, '_', '-' or '.'
     * @param sequence the batch's number, 0 or more, higher than those before
     * @param batch gives the records, one after the other
     * @param timeout the longest to wait for room
     * @return the first one's offset; -1 when the producer's batch of this or a higher sequence is in the queue already
     * @throws InterruptedException when interrupted; nothing was stored
     */
    public long pushOnce(String producer, long sequence, Records batch, Duration timeout) throws InterruptedException {
        return pushOnce(producer, sequence, batch, timeout, false);
    }

    /**
     * Appends a batch unless the producer has pushed it before. When the process dies at any moment, the batch is in
     * the queue and its sequence known, or neither; so whoever tries again what has not returned has it there once. A
     * producer pushes its batches one after the other; gaps are allowed. A batch without records counts, too.
     *
     * <p>A loss of power may take a batch that no {@link #flush} covers, and then its sequence with it. It may leave
     * such a batch and take its sequence, so that it comes twice; not with sync.
     *
     * @param producer 1 to 100 letters, digits, '_', '-' or '.', and not one of the last two first
     * @param sequence the batch's number, 0 or more, higher than those before
     * @param batch gives the records, one after the other
     * @param timeout the longest to wait for room
     * @param sync whether to return when batch and sequence are on the disk. All pushes wait while the sequence is
     *     fsynced, before the batch becomes visible; then the caller waits for a second fsync
     * @return the first one's offset; -1 when the producer's batch of this or a higher sequence is in the queue already
     * @throws InterruptedException when interrupted; nothing was stored
     * @throws org.mmapqueue.errors.FullException when there was no room for all of them in time
     * @throws org.mmapqueue.errors.TooLargeException when one is larger than max_event_size, or all than the ring
     * @throws org.mmapqueue.errors.ConfigException when the name is not allowed, there are 1000 producers, or the
     *     directory is one of format version 1
     * @throws org.mmapqueue.errors.PoisonedException when an fsync fails: whether the batch is on the disk is open
     * @throws IllegalArgumentException when the sequence or a length is below 0
     */
    public long pushOnce(String producer, long sequence, Records batch, Duration timeout, boolean sync)
            throws InterruptedException {
        return writer().pushOnce(producer, sequence, HeapRecords.fetch(batch), nanos(timeout), sync, gone);
    }

    /**
     * Appends a batch unless the producer has pushed it before, and stores a digest with its sequence, in the same step:
     * whoever tries again can compare what it has now with what it had then. Otherwise as
     * {@link #pushOnce(String, long, Records, Duration, boolean)}.
     *
     * @param producer 1 to 100 letters, digits, '_', '-' or '.', and not one of the last two first
     * @param sequence the batch's number, 0 or more, higher than those before
     * @param digest found again by {@link #digest}; the queue does not compare it
     * @param batch gives the records, one after the other
     * @param timeout the longest to wait for room
     * @param sync whether to return when batch, sequence and digest are on the disk
     * @return the first one's offset; -1 when the producer's batch of this or a higher sequence is in the queue already
     * @throws InterruptedException when interrupted; nothing was stored
     */
    public long pushOnce(
            String producer, long sequence, BatchDigest digest, Records batch, Duration timeout, boolean sync)
            throws InterruptedException {
        return writer().pushOnce(
                        producer,
                        sequence,
                        Objects.requireNonNull(digest),
                        HeapRecords.fetch(batch),
                        nanos(timeout),
                        sync,
                        gone);
    }

    /**
     * The digest of a batch that is in the queue. At least that of the producer's last batch is remembered, mostly those
     * of the two before it, too.
     *
     * @param producer its name
     * @param sequence the batch's number
     * @return empty when the batch was pushed without one, when later batches have taken its place, or when there is no
     *     such batch
     * @throws org.mmapqueue.errors.ConfigException when the name is not allowed
     */
    public Optional<BatchDigest> digest(String producer, long sequence) {
        return writer().digest(producer, sequence);
    }

    /**
     * What a producer has pushed last with {@link #pushOnce(String, long, List, Duration) pushOnce}.
     *
     * @param producer its name
     * @return the sequence; empty when nothing of it is known
     * @throws org.mmapqueue.errors.ConfigException when the name is not allowed
     */
    public OptionalLong lastSequence(String producer) {
        return writer().lastSequence(producer);
    }

    /**
     * The producers that have pushed with {@link #pushOnce(String, long, List, Duration) pushOnce}, or tried to.
     *
     * @return their names, in alphabetical order
     */
    public List<String> producers() {
        return writer().producers();
    }

    /**
     * Forgets what a producer has pushed, for good: its sequences begin anew. Its records stay.
     *
     * @param producer its name
     * @throws org.mmapqueue.errors.ConfigException when there is none of this name
     */
    public void forgetProducer(String producer) {
        writer().forgetProducer(producer);
    }

    private static byte[] copyOf(ByteBuffer data) {
        byte[] copy = new byte[data.remaining()];
        data.get(data.position(), copy);
        return copy;
    }

    static long nanos(Duration timeout) {
        if (timeout.isNegative()) {
            return 0;
        }
        try {
            // Half of the range: a deadline of now + timeout must not overflow.
            return Math.min(timeout.toNanos(), Long.MAX_VALUE / 2);
        } catch (ArithmeticException e) {
            return Long.MAX_VALUE / 2;
        }
    }

    /**
     * The default consumer: the one that the queue's own calls read as. This call makes it when it does not exist, with
     * the oldest record that is retained, and so does each call of the queue that pops, and {@link #seek}. No other
     * call does, {@link #peek} and {@link #ack} included. Nothing remembers a deletion: the next call that pops makes
     * the consumer again. Stop its readers before you delete it.
     *
     * @return the consumer, owned by this process from the first call on
     * @throws org.mmapqueue.errors.LockedException when another process owns it
     */
    public Consumer consumer() {
        Consumer known = defaultConsumer;
        if (known == null || closed || known.isClosed()) {
            known = consumer(Registry.DEFAULT, StartAt.EARLIEST);
            defaultConsumer = known;
        }
        return known;
    }

    // The default consumer, taken up if it exists; null when it does not.
    private Consumer existing() {
        Consumer known = defaultConsumer;
        if (known == null || closed || known.isClosed()) {
            known = consumers().contains(Registry.DEFAULT) ? consumer() : null;
        }
        return known;
    }

    // The default consumer, for what only one that has popped can be asked for.
    private Consumer existing(String what, long offset) {
        Consumer known = existing();
        if (known == null) {
            throw new OutOfRangeException(what, offset, 0, -1);
        }
        return known;
    }

    /**
     * A named consumer; it is made when it is not there, by whichever process. Each consumer gets every record.
     *
     * @param name 1 to 100 letters, digits, '_', '-' or '.'
     * @param start where it begins when it is made now
     * @return the consumer, owned by this process until the queue is closed
     * @throws org.mmapqueue.errors.LockedException when another process owns it
     * @throws org.mmapqueue.errors.ConfigException when the name is not allowed
     */
    public Consumer consumer(String name, StartAt start) {
        QueueCore open = core();
        return new Consumer(this, open, open.consumer(name, start));
    }

    /**
     * Makes a consumer for another process to own, or for later: from then on the queue keeps what it has not acked.
     * Does nothing when it exists.
     *
     * @param name 1 to 100 letters, digits, '_', '-' or '.'
     * @param start where it begins
     * @throws org.mmapqueue.errors.ConfigException when the name is not allowed
     */
    public void createConsumer(String name, StartAt start) {
        core().createConsumer(name, start);
    }

    /**
     * Forgets a consumer, and gives the space free that it held. Any can be deleted, the default one and the last one
     * included. A queue without a consumer keeps everything from where the last one stood on, until it is full.
     *
     * @param name its name; when this process owns it, it is closed
     * @throws org.mmapqueue.errors.LockedException when another process owns it
     * @throws org.mmapqueue.errors.ConfigException when there is none of this name, or the format version is 1, which
     *     always has its default one
     */
    public void deleteConsumer(String name) {
        core().deleteConsumer(name);
    }

    /**
     * The consumers that the queue has, whichever process owns them. A new queue of format version 2 has none.
     *
     * @return their names, the default one first, the others in alphabetical order
     */
    public List<String> consumers() {
        return core().consumerNames();
    }

    /**
     * Whether this process owns a consumer, by whichever handle.
     *
     * @param name its name
     * @return whether {@link #consumer(String, StartAt)} has taken it up here, and nobody has closed it since
     */
    public boolean owns(String name) {
        return core().owns(name);
    }

    /**
     * How far each consumer is.
     *
     * @return one for each name of {@link #consumers}, in the same order
     */
    public List<ConsumerStats> consumerStats() {
        return core().consumerStats();
    }

    /**
     * Pops the next record of the default consumer.
     *
     * @return the record, or null when there is none now
     */
    public Message poll() {
        return consumer().poll();
    }

    /**
     * Pops the next record of the default consumer.
     *
     * @return the record
     * @throws org.mmapqueue.errors.EmptyException when there is none now
     */
    public Message pop() {
        return consumer().pop();
    }

    /**
     * Pops the next record of the default consumer, waiting for one.
     *
     * @param timeout the longest to wait
     * @return the record
     * @throws InterruptedException when interrupted; nothing was popped
     * @throws org.mmapqueue.errors.EmptyException when there was none in time
     */
    public Message pop(Duration timeout) throws InterruptedException {
        return consumer().pop(timeout);
    }

    /**
     * Pops several records of the default consumer; see {@link Consumer#popBatch(int, long, Duration)}.
     *
     * @param maxRecords the most records
     * @param maxBytes the most bytes of payload
     * @param timeout the longest to wait for the first one
     * @return the records, in order; none when there was none in time
     * @throws InterruptedException when interrupted; nothing was popped
     */
    public List<Message> popBatch(int maxRecords, long maxBytes, Duration timeout) throws InterruptedException {
        return consumer().popBatch(maxRecords, maxBytes, timeout);
    }

    /**
     * Looks at the next record of the default consumer and leaves it there. When that consumer does not exist, looks at
     * the oldest record that is retained, which a pop would begin with. Makes no consumer.
     *
     * @return the record, or null when there is none now
     */
    public Message peek() {
        Consumer known = existing();
        return known != null ? known.peek() : core().log().randomAccess().first();
    }

    /**
     * Acks everything that the default consumer has popped up to an offset; see {@link Consumer#ack}. Makes no consumer.
     *
     * @param offset the last record that has been dealt with
     * @throws OutOfRangeException when the default consumer does not exist, or has not popped it
     */
    public void ack(long offset) {
        existing("ack without a consumer " + Registry.DEFAULT, offset).ack(offset);
    }

    /**
     * Gives a record back to the default consumer; see {@link Consumer#nack(long, Duration)}. Makes no consumer.
     *
     * @param offset the record
     * @param delay how long it is not popped
     * @throws OutOfRangeException when the default consumer does not exist, or has not popped it
     */
    public void nack(long offset, Duration delay) {
        existing("nack without a consumer " + Registry.DEFAULT, offset).nack(offset, delay);
    }

    /**
     * Moves the default consumer, which is made when it does not exist; see {@link Consumer#seek}.
     *
     * @param place where to go
     */
    public void seek(StartAt place) {
        consumer().seek(place);
    }

    /**
     * Reads a record, and moves no consumer.
     *
     * @param offset its number
     * @return the record; its attempts are 0
     * @throws org.mmapqueue.errors.OutOfRangeException when it is not retained any more, or not there yet
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged
     */
    public Message get(long offset) {
        return core().log().randomAccess().get(offset, 1, Long.MAX_VALUE).get(0);
    }

    /**
     * Reads records, and moves no consumer.
     *
     * @param offset the first one's number
     * @param count the most records
     * @return the records that there are, in order, at least one; their attempts are 0
     * @throws org.mmapqueue.errors.OutOfRangeException when the first one is not retained any more, or not there yet
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged
     */
    public List<Message> getMany(long offset, int count) {
        return core().log().randomAccess().get(offset, count, Long.MAX_VALUE);
    }

    /**
     * Reads records without an allocation for each, and moves no consumer.
     *
     * @param offset the first one's number
     * @param count the most records
     * @param maxBytes the most bytes of payload; a first record that is larger is read all the same
     * @param handler is called with each record, in order, with 0 attempts; see {@link MessageHandler}
     * @return how many there were, at least one
     * @throws org.mmapqueue.errors.OutOfRangeException when the first one is not retained any more, or not there yet
     * @throws org.mmapqueue.errors.CorruptException when the first one is damaged
     */
    public int getMany(long offset, int count, long maxBytes, MessageHandler handler) {
        return core().log().randomAccess().get(offset, count, maxBytes, handler);
    }

    /**
     * A reader of a range of records, with a place of its own. Many may read at once.
     *
     * @param from the first record's offset
     * @param to the offset behind the last one; {@code Long.MAX_VALUE} for all that there will be
     * @return the reader, to be closed; it reads while this handle is open
     * @throws org.mmapqueue.errors.OutOfRangeException when the first one is not retained any more, or not there yet
     *     and not the next to come
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which stores no numbers
     */
    public RecordReader reader(long from, long to) {
        return new RecordReader(core().log().reader(from, to, gone));
    }

    /**
     * Cuts a range of records into parts of about the same size, to be read by a {@link #reader} each. Looks at the
     * headers of segments only; parts that are larger than a segment begin with one.
     *
     * @param from the first record's offset
     * @param to the offset behind the last one
     * @param bytes the size of a part in bytes of the log, at least 1
     * @return the offsets of the parts' first records, rising, and at last {@code to}
     * @throws org.mmapqueue.errors.OutOfRangeException when one of the range is not retained any more, or not there yet
     */
    public long[] split(long from, long to, long bytes) {
        if (bytes < 1 || to < from) {
            throw new IllegalArgumentException(
                    "from = " + from + ", to = " + to + ", bytes = " + bytes + "; expected from <= to and bytes >= 1");
        }
        return core().log().randomAccess().split(from, to, bytes);
    }

    /**
     * How many bytes of the log a range of records takes, framing included. Looks at the headers of segments only: a
     * record that does not begin a segment is placed by its share of the segment's records.
     *
     * @param from the first record's offset
     * @param to the offset behind the last one
     * @return bytes
     * @throws org.mmapqueue.errors.OutOfRangeException when one of the range is not retained any more, or not there yet
     */
    public long bytes(long from, long to) {
        return core().log().randomAccess().bytes(from, to);
    }

    /**
     * What tells this queue from all others.
     *
     * @return made with the queue, and never changed
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which has none
     */
    public UUID id() {
        return core().id();
    }

    /**
     * What tells the queue that lies in a directory now from all others. A queue that is open stays the one that it was
     * when its directory is moved away and another one takes the place; this tells. Reads one small file and opens
     * nothing.
     *
     * @param directory where it lies
     * @return empty when there is no queue, or one of format version 1, which has no identity
     * @throws org.mmapqueue.errors.CorruptException when its meta page is damaged
     * @throws MmapQueueException when it can not be read
     */
    public static Optional<UUID> idIn(Path directory) {
        return QueueDirectory.idIn(DiskStorage.INSTANCE, directory);
    }

    /**
     * Finds a record by the time at which it was pushed.
     *
     * @param micros the time, µs since 1970
     * @return the offset of the first record that was pushed then or later; empty when there is none yet
     * @throws org.mmapqueue.errors.ConfigException when the queue stores no timestamps
     */
    public OptionalLong find(long micros) {
        return core().log().randomAccess().find(micros);
    }

    /**
     * The beginning of the queue.
     *
     * @return the offset of the oldest record that is retained; {@link #endOffset} when none is
     */
    public long firstOffset() {
        return core().log().randomAccess().firstOffset();
    }

    /**
     * The end of the queue.
     *
     * @return the offset that the next record gets
     */
    public long endOffset() {
        return core().endOffset();
    }

    /**
     * Returns when everything that was pushed before, and every ack before, is on the disk.
     *
     * @throws org.mmapqueue.errors.PoisonedException when an fsync fails
     */
    public void flush() {
        writer().flush();
    }

    /**
     * Deletes the ring files that hold nothing which is retained; they are made anew when the writer needs them.
     *
     * @return bytes that the disk has got back
     */
    public long gc() {
        return writer().gc();
    }

    /**
     * The state of the queue now.
     *
     * @return figures; each is true at some moment during the call
     */
    public QueueStats stats() {
        return core().stats();
    }

    /**
     * What the queue works with.
     *
     * @return the configuration with every value said
     */
    public QueueConfig config() {
        return new QueueConfig(core().settings().asConfig(core.directory()));
    }

    boolean isClosed() {
        return closed;
    }

    /**
     * Closes this handle; with the last one of the process, flushes and closes the queue. Every later call raises
     * ClosedException. A second close does nothing.
     *
     * @throws MmapQueueException when the last flush fails; the next open recovers
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        OpenQueues.release(core);
    }
}
