package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.archive.owner.Fences;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;

class BucketRunsTest {
    private final Map<RunName, Long> modified = new HashMap<>();

    private List<RunName> small(int count) {
        List<RunName> small = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            small.add(stored(new RunName(i, i + 1, 1, 1, 1, 24, i), 100));
        }
        return small;
    }

    private RunName stored(RunName run, long millis) {
        modified.put(run, millis);
        return run;
    }

    private BucketRuns listed() throws IOException {
        List<String> names = modified.keySet().stream().map(RunName::toString).toList();
        return BucketRuns.of(names, modified, 0, "the bucket of a test", epoch -> Fences.NONE);
    }

    @Test
    void aRunIsReplacedSinceTheFirstRunAroundItWasStored() throws IOException {
        List<RunName> small = small(12);
        RunName first = stored(RunMerger.name(small.subList(0, 4)), 200);
        RunName both = stored(RunMerger.name(small.subList(0, 8)), 300);
        RunName later = stored(RunMerger.name(small.subList(8, 10)), 400);
        RunName longest = stored(RunMerger.name(small.subList(0, 10)), 250);
        BucketRuns listed = listed();
        assertEquals(List.of(longest, small.get(10), small.get(11)), listed.cover());
        for (RunName run : small) {
            long expected = run.first() < 4 ? 200 : run.first() < 10 ? 250 : Long.MAX_VALUE;
            assertEquals(expected, listed.replacedMillis(run), run::toString);
        }
        assertEquals(250, listed.replacedMillis(first));
        assertEquals(250, listed.replacedMillis(both));
        assertEquals(250, listed.replacedMillis(later));
        assertEquals(Long.MAX_VALUE, listed.replacedMillis(longest));
    }

    /** As after a loop of shipped pushes: it takes some hundred milliseconds, and not minutes. */
    @Test
    @Timeout(30)
    void manyReplacedRunsTakeOnePass() throws IOException {
        List<RunName> small = small(200_000);
        stored(RunMerger.name(small), 200);
        BucketRuns listed = listed();
        for (RunName run : small) {
            assertEquals(200, listed.replacedMillis(run));
        }
    }
}
