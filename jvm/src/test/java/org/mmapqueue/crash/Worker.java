package org.mmapqueue.crash;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.harness.TestRecord;

/**
 * The process that is killed. It waits for its orders, so the JVM's start does not count. Then it opens the queue,
 * works on it, and closes it, repeatedly.
 */
final class Worker {
    private static final int MAIN = 0;
    private static final int FIRST_PRODUCER = 1;
    private static final int FIRST_POPPER = 20;
    private static final int CHURN = 60;
    private static final int READER = 61;
    private static final int LOCK_TRIES = 200;

    private final Journal journal;
    private final Path directory;
    private final Plan plan;
    private final boolean writes;
    private final boolean hasReader;
    private final SplittableRandom random;
    private final List<Producer> producers = new ArrayList<>();
    private volatile boolean stop;

    /** The work of one process, sent as one line. */
    record Orders(Path directory, long planSeed, int version, int round, boolean writes, boolean hasReader, long seed) {
        String line() {
            return planSeed + " " + version + " " + round + " " + writes + " " + hasReader + " " + seed + " "
                    + directory;
        }

        static Orders of(String line) {
            String[] words = line.split(" ", 7);
            return new Orders(
                    Path.of(words[6]),
                    Long.parseLong(words[0]),
                    Integer.parseInt(words[1]),
                    Integer.parseInt(words[2]),
                    Boolean.parseBoolean(words[3]),
                    Boolean.parseBoolean(words[4]),
                    Long.parseLong(words[5]));
        }
    }

    private Worker(Journal journal, Orders orders) {
        this.journal = journal;
        this.directory = orders.directory;
        this.plan = Plan.of(orders.planSeed, orders.version);
        this.writes = orders.writes;
        this.hasReader = orders.hasReader;
        this.random = new SplittableRandom(orders.seed);
        for (int i = 0; writes && i < plan.producers(); i++) {
            producers.add(new Producer(FIRST_PRODUCER + i, journal, random.split(), plan, orders.round));
        }
    }

    /** The standard input has one line of orders. */
    public static void main(String[] args) throws Exception {
        Journal journal = new Journal(new FileOutputStream(FileDescriptor.out));
        journal.done(Event.Kind.READY, MAIN);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line = input.readLine();
        if (line == null) {
            return; // not needed
        }
        Worker worker = new Worker(journal, Orders.of(line));
        try {
            while (true) {
                worker.session();
            }
        } catch (Throwable e) {
            worker.fault(e);
        }
    }

    private void fault(Throwable e) {
        synchronized (this) {
            e.printStackTrace();
            journal.done(Event.Kind.FAULT, MAIN);
            Runtime.getRuntime().halt(3);
        }
    }

    private void session() throws InterruptedException {
        QueueConfig config = writes ? plan.config(directory) : plan.readerConfig(directory);
        MmapQueue queue = open(config);
        stop = false;
        List<Thread> threads = new ArrayList<>();
        for (Actor actor : actors(queue)) {
            Thread thread = new Thread(() -> act(actor, queue), "actor-" + actor.number);
            threads.add(thread);
            thread.start();
        }
        long nanos =
                plan.sessionMillis() == 0 ? Long.MAX_VALUE : 1_000_000L * (1 + random.nextInt(plan.sessionMillis()));
        for (long end = System.nanoTime() + nanos / 2; end - System.nanoTime() > 0; ) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
        stop = true;
        for (Thread thread : threads) {
            thread.join();
        }
        journal.begin(Event.Kind.CLOSE, MAIN);
        queue.close();
        journal.done(Event.Kind.CLOSE, MAIN);
    }

    private MmapQueue open(QueueConfig config) {
        for (int tries = 1; ; tries++) {
            journal.begin(Event.Kind.OPEN, MAIN);
            try {
                MmapQueue queue = MmapQueue.open(config);
                Message first = plan.version() == 1 ? queue.consumer().peek() : null;
                journal.done(
                        Event.Kind.OPEN,
                        MAIN,
                        queue.endOffset(),
                        first == null ? -1 : TestRecord.of(first).key());
                return queue;
            } catch (LockedException e) {
                // A reader that waits for the writer takes the writer's file lock for a moment.
                journal.threw(Event.Kind.OPEN, MAIN);
                if (tries == LOCK_TRIES) {
                    throw e;
                }
                LockSupport.parkNanos(1_000_000);
            }
        }
    }

    private void act(Actor actor, MmapQueue queue) {
        try {
            while (!stop) {
                actor.step(queue);
            }
        } catch (Throwable e) {
            fault(e);
        }
    }

    private List<Actor> actors(MmapQueue queue) {
        List<Actor> actors = new ArrayList<>(producers);
        int number = FIRST_POPPER;
        for (int index = 0; index < Plan.NAMES.size(); index++) {
            int threads = index == Plan.READER
                    ? plan.reads() && writes != hasReader ? 1 : 0
                    : writes ? plan.threads().get(index) : 0;
            if (threads > 0) {
                journal.begin(Event.Kind.OPEN_CONSUMER, MAIN, index);
                Consumer consumer = queue.consumer(Plan.NAMES.get(index), StartAt.EARLIEST);
                journal.done(Event.Kind.OPEN_CONSUMER, MAIN, index, consumer.committedOffset());
                for (int i = 0; i < threads; i++) {
                    actors.add(new Popper(number++, journal, random.split(), plan, index, consumer));
                }
            }
        }
        if (writes && !plan.churns().isEmpty()) {
            actors.add(new ConsumerChurn(CHURN, journal, random.split(), plan));
        }
        if (plan.version() == 2) {
            actors.add(new RandomReader(READER, journal, random.split(), writes));
        }
        return actors;
    }
}
