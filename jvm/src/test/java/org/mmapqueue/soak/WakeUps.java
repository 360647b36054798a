package org.mmapqueue.soak;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.Directories;

/**
 * Measures the delay until a waiting consumer has a record that is pushed after a pause of 1 to 20 ms, and the cost of
 * waiting, for each wait strategy, in the pushing process and in another one ({@code make wakeups}). The clock is read
 * just before the push and just after the pop: System.nanoTime, on Linux one clock for all processes. Arguments: wakes
 * (default 2000), strategies (default all, separated by commas).
 */
public final class WakeUps {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int IDLE_SECONDS = 5;
    private static final int MANY = 8;
    /** Pushes that do not count; the JIT compiler has finished after them. */
    private static final int WARM_UP = 20_000;

    private final Path directory;
    private final int wakes;
    private final String strategy;
    private final long[] pushNanos;

    private WakeUps(Path directory, int wakes, String strategy) {
        this.directory = directory;
        this.wakes = wakes;
        this.strategy = strategy;
        this.pushNanos = new long[WARM_UP + wakes];
    }

    /** Prints a table. A record that is lost or out of order ends the run. */
    public static void main(String[] arguments) throws Exception {
        int wakes = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 2000;
        String strategies = arguments.length > 1 ? arguments[1] : "backoff,park,spin";
        System.out.printf(
                "%d cores, %d wakes each, microseconds from before push() to after pop()%n",
                Runtime.getRuntime().availableProcessors(), wakes);
        bare(wakes);
        for (String strategy : strategies.split(",")) {
            Path directory = Files.createTempDirectory("mmapqueue-wakeups");
            try {
                WakeUps run = new WakeUps(directory.resolve("queue"), wakes, strategy);
                run.inProcess(1);
                run.inProcess(MANY);
                run.acrossProcesses();
            } finally {
                Directories.delete(directory);
            }
        }
    }

    private static long pause(int number, SplittableRandom random) {
        return number < WARM_UP ? 50_000 : random.nextLong(1_000_000, 20_000_000);
    }

    /** The baseline: a thread that is unparked, and nothing else. */
    private static void bare(int wakes) throws InterruptedException {
        long[] wake = new long[WARM_UP + wakes];
        long[] unpark = new long[WARM_UP + wakes];
        AtomicLong stamp = new AtomicLong();
        Thread sleeper = new Thread(() -> {
            for (int i = 0; i < wake.length; i++) {
                while (stamp.get() == 0) {
                    LockSupport.park();
                }
                wake[i] = System.nanoTime() - stamp.getAndSet(0);
            }
        });
        sleeper.start();
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < wake.length; i++) {
            LockSupport.parkNanos(pause(i, random));
            long before = System.nanoTime();
            stamp.set(before);
            LockSupport.unpark(sleeper);
            unpark[i] = System.nanoTime() - before;
            while (stamp.get() != 0) {
                LockSupport.parkNanos(100_000);
            }
        }
        sleeper.join();
        System.out.printf(
                "bare     same process, 1 waiting: wake %s; unpark %s%n",
                percentiles(Arrays.copyOfRange(wake, WARM_UP, wake.length)),
                percentiles(Arrays.copyOfRange(unpark, WARM_UP, unpark.length)));
    }

    private static QueueConfig.Builder config(Path directory, String strategy) {
        return QueueConfig.builder(directory).maxInMemSegments(2 * MANY).waitStrategy(strategy);
    }

    private void inProcess(int consumers) throws Exception {
        try (MmapQueue queue = MmapQueue.open(config(directory, strategy).build())) {
            List<Waiter> waiters = new ArrayList<>();
            for (int i = 0; i < consumers; i++) {
                waiters.add(new Waiter(queue.consumer("waiter-" + i, StartAt.LATEST), WARM_UP + wakes));
            }
            push(queue);
            long[] all = new long[consumers * wakes];
            for (int i = 0; i < consumers; i++) {
                System.arraycopy(waiters.get(i).nanos(), WARM_UP, all, i * wakes, wakes);
            }
            System.out.printf(
                    "%-8s same process, %d waiting: wake %s; push %s; idle %s%n",
                    strategy,
                    consumers,
                    percentiles(all),
                    percentiles(Arrays.copyOfRange(pushNanos, WARM_UP, pushNanos.length)),
                    idle(waiters));
            for (Waiter waiter : waiters) {
                waiter.stop();
            }
        }
    }

    private void push(MmapQueue queue) {
        SplittableRandom random = new SplittableRandom(1);
        byte[] payload = new byte[16];
        ByteBuffer stamp = ByteBuffer.wrap(payload);
        for (int i = 0; i < pushNanos.length; i++) {
            LockSupport.parkNanos(pause(i, random));
            long before = System.nanoTime();
            stamp.putLong(0, before).putLong(8, i);
            queue.push(payload);
            pushNanos[i] = System.nanoTime() - before;
        }
    }

    private void acrossProcesses() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config(directory, strategy).build())) {
            queue.createConsumer("remote", StartAt.LATEST);
            try (ChildJvm child = new ChildJvm(
                    List.of("-XX:+UseSerialGC"),
                    ProcessBuilder.Redirect.INHERIT,
                    Reader.class,
                    directory,
                    wakes,
                    strategy)) {
                child.expect("ready");
                push(queue);
                System.out.printf("%-8s other process, 1 waiting: %s%n", strategy, child.line());
                if (child.exitCode() != 0) {
                    throw new IllegalStateException("the reading process failed");
                }
            }
        }
    }

    /** The other process: opens the queue read-only and waits. */
    static final class Reader {
        private Reader() {}

        /** Arguments: directory, wakes, strategy. */
        public static void main(String[] arguments) throws Exception {
            int wakes = Integer.parseInt(arguments[1]);
            QueueConfig config =
                    config(Path.of(arguments[0]), arguments[2]).readOnly(true).build();
            try (MmapQueue queue = MmapQueue.open(config)) {
                Waiter waiter = new Waiter(queue.consumer("remote", StartAt.EARLIEST), WARM_UP + wakes);
                System.out.println("ready");
                System.out.printf(
                        "wake %s; idle %s%n",
                        percentiles(Arrays.copyOfRange(waiter.nanos(), WARM_UP, WARM_UP + wakes)),
                        idle(List.of(waiter)));
                waiter.stop();
            }
        }
    }

    /** A thread that pops and acks one record after the other, and then waits without success. */
    private static final class Waiter {
        private final Consumer consumer;
        private final long[] nanos;
        private final Thread thread;
        private final AtomicReference<Throwable> failure = new AtomicReference<>();
        private volatile int count;

        Waiter(Consumer consumer, int wakes) {
            this.consumer = consumer;
            this.nanos = new long[wakes];
            this.thread = new Thread(this::run, "waiter");
            thread.setDaemon(true);
            thread.start();
        }

        @SuppressWarnings("NonAtomicVolatileUpdate") // one thread changes it
        private void run() {
            try {
                while (count < nanos.length) {
                    consumer.popBatch(1, Long.MAX_VALUE, LIMIT, (offset, time, buffer, at, length, attempts) -> {
                        long now = System.nanoTime();
                        ByteBuffer stamp = ByteBuffer.wrap(buffer, at, length);
                        if (stamp.getLong(at + 8) != count) {
                            throw new IllegalStateException("record " + stamp.getLong(at + 8) + " after " + count);
                        }
                        nanos[count] = now - stamp.getLong(at);
                    });
                    consumer.ackUpTo(consumer.readOffset() - 1);
                    count = count + 1;
                }
                consumer.popBatch(1, Long.MAX_VALUE, LIMIT);
            } catch (InterruptedException e) {
                return; // the idle time is over
            } catch (Throwable e) {
                failure.set(e);
            }
        }

        long[] nanos() throws InterruptedException {
            while (count < nanos.length) {
                if (!thread.isAlive()) {
                    throw new IllegalStateException("a waiter failed", failure.get());
                }
                Thread.sleep(10);
            }
            return nanos;
        }

        void stop() throws InterruptedException {
            thread.interrupt();
            thread.join();
        }
    }

    /** The share of a core that waiting threads, and the whole process, use while no record comes. */
    private static String idle(List<Waiter> waiters) throws InterruptedException {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        Thread.sleep(500); // until the JIT compiler is idle
        long process = system.getProcessCpuTime();
        long threads = cpuTime(waiters);
        long start = System.nanoTime();
        Thread.sleep(TimeUnit.SECONDS.toMillis(IDLE_SECONDS));
        double elapsed = System.nanoTime() - start;
        return String.format(
                "%.2f %% of a core for each, process %.2f %%",
                100 * (cpuTime(waiters) - threads) / elapsed / waiters.size(),
                100 * (system.getProcessCpuTime() - process) / elapsed);
    }

    private static long cpuTime(List<Waiter> waiters) {
        return waiters.stream()
                .mapToLong(waiter -> ManagementFactory.getThreadMXBean().getThreadCpuTime(waiter.thread.getId()))
                .sum();
    }

    private static String percentiles(long[] nanos) {
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        return String.format(
                "median %,.1f p99 %,.1f max %,.1f",
                sorted[sorted.length / 2] / 1e3,
                sorted[(int) (sorted.length * 0.99)] / 1e3,
                sorted[sorted.length - 1] / 1e3);
    }
}
