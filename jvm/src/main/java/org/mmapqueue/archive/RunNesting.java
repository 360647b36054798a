package org.mmapqueue.archive;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;

/**
 * The rules for runs that overlap: one must be nested in the other, and runs that make up another run without a gap
 * must have its checksum, bytes and timestamps together. Otherwise the runs contain records of two queues.
 */
final class RunNesting {
    /** A run, and the run that its nested runs make up so far; null once they have a gap. */
    private static final class Open {
        final RunName run;

        @Nullable
        RunName inner;

        boolean hasInner;

        Open(RunName run) {
            this.run = run;
        }
    }

    private RunNesting() {}

    /**
     * Returns the runs that are not nested in another run.
     *
     * @param sorted the runs, sorted by {@link BucketRuns#ORDER}
     * @param where the directory, for messages
     * @throws ArchiveException if a rule does not hold
     */
    static List<RunName> cover(List<RunName> sorted, String where) {
        List<RunName> cover = new ArrayList<>();
        Deque<Open> open = new ArrayDeque<>();
        for (RunName run : sorted) {
            while (!open.isEmpty() && open.peek().run.end() <= run.first()) {
                close(open.pop(), where);
            }
            Open outer = open.peek();
            if (outer == null) {
                cover.add(run);
            } else {
                nest(outer, run, where);
            }
            open.push(new Open(run));
        }
        while (!open.isEmpty()) {
            close(open.pop(), where);
        }
        return List.copyOf(cover);
    }

    private static void nest(Open outer, RunName run, String where) {
        if (run.end() > outer.run.end()) {
            throw conflict(where, outer.run, run, "overlap, and neither is in the other");
        }
        if (run.end() == outer.run.end() && run.first() == outer.run.first()) {
            throw conflict(where, outer.run, run, "are of the same records, and differ");
        }
        if (!outer.hasInner) {
            outer.inner = run.first() == outer.run.first() ? run : null;
            outer.hasInner = true;
        } else if (outer.inner != null) {
            outer.inner = run.first() == outer.inner.end() ? RunMerger.join(outer.inner, run) : null;
        }
    }

    private static void close(Open done, String where) {
        RunName inner = done.inner;
        if (inner != null && inner.end() == done.run.end() && !inner.hasRecordsOf(done.run)) {
            throw conflict(where, done.run, inner, "differ: the second is what the runs in the first one make");
        }
    }

    /** The exception for two conflicting runs of one partition. */
    static ArchiveException conflict(String where, RunName one, RunName other, String how) {
        return new ArchiveException(where + ": runs " + one + " and " + other + " " + how
                + ": two hosts have shipped copies of one queue directory, or a run is damaged");
    }
}
