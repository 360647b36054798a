package org.mmapqueue.tool;

import java.nio.file.Path;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.json.Json;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A tool that runs in a thread of its own, for callers in Python that poll the progress. Thread-safe. */
public final class Job {
    private final FutureTask<String> task;
    private volatile long done;
    private volatile long total;
    private volatile boolean isCancelled;

    private Job(Function<Progress, String> work) {
        task = new FutureTask<>(() -> work.apply(this::at));
    }

    static Job started(String name, Function<Progress, String> work) {
        Job job = new Job(work);
        Thread thread = new Thread(job.task, name);
        thread.setDaemon(true);
        thread.start();
        return job;
    }

    private void at(long newDone, long newTotal) {
        if (isCancelled) {
            throw new CancellationException();
        }
        done = newDone;
        total = newTotal;
    }

    /** Starts {@link Verifier#verify}. */
    public static Job verify(String directory) {
        return started("mmapqueue-verify", progress -> Json.of(Verifier.verify(Path.of(directory), progress)));
    }

    /**
     * Starts {@link Repairer#repair} or {@link Repairer#repairInPlace}.
     *
     * @param target the directory of the copy; empty to repair in place
     * @param resetClock "true" to set timestamps that are ahead of the clock to now
     */
    public static Job repair(String directory, String target, String resetClock) {
        Path path = Path.of(directory);
        boolean reset = Boolean.parseBoolean(resetClock);
        return started(
                "mmapqueue-repair",
                progress -> Json.of(
                        target.isEmpty()
                                ? Repairer.repairInPlace(path, reset, progress)
                                : Repairer.repair(path, Path.of(target), reset, progress)));
    }

    /**
     * Starts {@link Copier#copy}, or {@link Copier#resize} without a target.
     *
     * @param target the directory of the copy; empty to resize in place
     * @param capacity bytes of all segment files, in decimal digits; 0 for the queue's own
     * @param segmentSize bytes of a segment file, in decimal digits; 0 for the queue's own
     */
    public static Job copy(String directory, String target, String capacity, String segmentSize) {
        RingSize size = new RingSize(Long.parseLong(capacity), Long.parseLong(segmentSize));
        Path path = Path.of(directory);
        return started(
                "mmapqueue-copy",
                progress -> Json.of(
                        target.isEmpty()
                                ? Copier.resize(path, size, progress)
                                : Copier.copy(path, Path.of(target), size, progress)));
    }

    /** Number of bytes read. */
    public long done() {
        return done;
    }

    /** Number of bytes to read; 0 while unknown. */
    public long total() {
        return total;
    }

    /**
     * Makes the job fail at its next progress. A tool that replaces files of the queue has no progress any more, and runs
     * to its end. {@link #isOver} waits for the end.
     */
    public void cancel() {
        isCancelled = true;
    }

    /**
     * Waits for the end of the job.
     *
     * @param millis the maximum wait, in ms
     */
    public boolean isOver(int millis) throws InterruptedException {
        try {
            task.get(millis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            return true; // result() throws the failure
        }
        return true;
    }

    /**
     * Waits for the end, and returns the report.
     *
     * @return the report as JSON
     * @throws MmapQueueException if the tool has failed
     */
    public String result() throws InterruptedException {
        try {
            return task.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new MmapQueueException("the tool failed: " + e.getCause(), e.getCause());
        }
    }
}
