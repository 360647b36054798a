package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.zip.CRC32C;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.support.MemoryFiles;

/**
 * Any set of nested runs is read through the longest ones; sets that overlap otherwise, or differ, are
 * errors. The model looks at each offset by itself.
 */
class RunListTest {
    private static final int MOST = 80;

    /** A random archive with offsets that cross a bucket's end: runs, longer ones over them, and some deleted. */
    private static final class Model {
        final MemoryFiles files = new MemoryFiles();
        final Set<RunName> runs = new LinkedHashSet<>();
        final long first;
        final long end;

        Model(Random random) {
            first = RunName.BUCKET * random.nextInt(3) + (random.nextBoolean() ? 0 : RunName.BUCKET - MOST / 2);
            List<RunName> level = new ArrayList<>();
            long from = first;
            while (from < first + MOST) {
                long to = from + 1 + random.nextInt(8);
                level.add(run(from, to));
                from = to;
            }
            end = from;
            level.forEach(this::store);
            for (int round = random.nextInt(4); round > 0; round--) {
                level = merged(random, level);
            }
        }

        // Some neighbours of one bucket become one; some of those that were replaced are deleted.
        private List<RunName> merged(Random random, List<RunName> level) {
            List<RunName> next = new ArrayList<>();
            int i = 0;
            while (i < level.size()) {
                int j = i + 1;
                int most = random.nextInt(5);
                while (j < level.size()
                        && j - i < most
                        && level.get(j).bucket() == level.get(i).bucket()) {
                    j++;
                }
                RunName all = run(level.get(i).first(), level.get(j - 1).end());
                if (j > i + 1) {
                    store(all);
                    for (RunName each : level.subList(i, j)) {
                        if (random.nextInt(3) == 0) {
                            delete(each);
                        }
                    }
                }
                next.add(all);
                i = j;
            }
            return next;
        }

        void store(RunName run) {
            runs.add(run);
            files.replace(run.file(0), new byte[0]);
        }

        void delete(RunName run) {
            runs.remove(run);
            files.delete(run.file(0));
        }

        RunList listed() throws IOException {
            RunList list = new RunList(files, 0);
            list.refresh();
            return list;
        }

        /** The longest run of each offset. */
        List<RunName> cover(long from, long to) {
            Set<RunName> cover = new LinkedHashSet<>();
            for (long offset = Math.max(from, first); offset < Math.min(to, end); offset++) {
                longestOf(offset).ifPresent(cover::add);
            }
            return List.copyOf(cover);
        }

        Optional<RunName> longestOf(long offset) {
            return runs.stream()
                    .filter(run -> run.first() <= offset && offset < run.end())
                    .max(Comparator.comparingLong(RunName::count));
        }
    }

    // The bytes of a record are its offset, and so is its timestamp.
    private static RunName run(long from, long to) {
        CRC32C crc = new CRC32C();
        for (long offset = from; offset < to; offset++) {
            crc.update(ByteBuffer.allocate(8).putLong(offset).array());
        }
        return new RunName(from, to, 1, from + 1, to, 8 * (to - from), (int) crc.getValue());
    }

    @Property
    void theLongestRunsAreRead(@ForAll long seed) throws IOException {
        Random random = new Random(seed);
        Model model = new Model(random);
        RunList list = model.listed();
        assertEquals(model.first, list.firstOffset());
        assertEquals(model.end, list.endOffset());
        for (int i = 0; i < 20; i++) {
            long from = model.first - 5 + random.nextInt(MOST + 10);
            long to = from + random.nextInt(30);
            assertEquals(model.cover(from, to), list.cover(from, to), "from " + from + " to " + to);
            long micros = model.first + random.nextInt(MOST + 20);
            RunName found = model.cover(0, Long.MAX_VALUE).stream()
                    .filter(run -> run.maxMicros() >= micros)
                    .findFirst()
                    .orElse(null);
            assertEquals(
                    found == null ? -1 : found.first(),
                    list.firstRunAtOrAfter(micros).orElse(-1));
        }
        assertEquals(model.runs, Set.copyOf(list.all()));
    }

    // A record has eight bytes, so sizes are exact.
    @Property
    void aPartByBytesIsTheLongestThatFits(@ForAll long seed) throws IOException {
        Random random = new Random(seed);
        Model model = new Model(random);
        ArchivePartition partition = new ArchivePartition(model.files, 0, new UUID(1, 1));
        partition.refresh();
        for (int i = 0; i < 20; i++) {
            long from = model.first + random.nextInt(MOST - 1);
            long to = from + 1 + random.nextInt((int) (model.end - from));
            assertEquals(8 * (to - from), partition.estimatedBytes(from, to), "from " + from + " to " + to);
            long most = random.nextInt(MOST * 8);
            assertEquals(
                    Math.min(to, from + Math.max(1, most / 8)),
                    partition.endWithin(from, to, most),
                    "from " + from + " to " + to + ", " + most + " bytes");
        }
    }

    @Property
    void partsOfARangeHaveItsRuns(@ForAll long seed) throws IOException {
        Random random = new Random(seed);
        Model model = new Model(random);
        RunList list = model.listed();
        long from = model.first + random.nextInt(MOST / 2);
        long to = from + random.nextInt(MOST / 2);
        long[] bounds = list.bounds(from, to);
        assertEquals(from, bounds[0]);
        assertEquals(to, bounds[bounds.length - 1]);
        Set<RunName> parts = new LinkedHashSet<>();
        for (int i = 1; i < bounds.length; i++) {
            assertTrue(bounds[i - 1] <= bounds[i]);
            assertTrue(bounds[i] - bounds[i - 1] <= RunName.BUCKET);
            parts.addAll(list.cover(bounds[i - 1], bounds[i]));
        }
        assertEquals(model.cover(from, to), List.copyOf(parts));
    }

    /** As many names as before, but other ones. */
    @Property
    void refreshFindsMergedRuns(@ForAll long seed) throws IOException {
        Random random = new Random(seed);
        Model model = new Model(random);
        RunList list = model.listed();
        list.refresh(); // knows the names of the newest bucket
        List<RunName> cover = model.cover(0, Long.MAX_VALUE);
        RunName last = cover.get(cover.size() - 1);
        RunName next = run(last.end(), last.end() + 3);
        if (next.bucket() != last.bucket()) {
            return;
        }
        List.copyOf(model.runs).stream()
                .filter(each -> each.first() >= last.first())
                .forEach(model::delete);
        model.store(run(last.first(), next.end()));
        list.refresh();
        assertEquals(next.end(), list.endOffset());
        assertEquals(
                run(last.first(), next.end()),
                list.cover(last.first(), next.end()).get(0));
    }

    @Property
    void refreshFindsNewRuns(@ForAll long seed) throws IOException {
        Random random = new Random(seed);
        Model model = new Model(random);
        List<RunName> cover = model.cover(0, Long.MAX_VALUE);
        MemoryFiles growing = new MemoryFiles();
        RunList list = new RunList(growing, 0);
        long end = 0;
        for (RunName run : cover) {
            growing.replace(run.file(0), new byte[0]);
            end = run.end();
            if (random.nextBoolean()) {
                list.refresh();
                assertEquals(end, list.endOffset());
                assertEquals(model.first, list.firstOffset());
                assertEquals(model.cover(0, end), list.cover(0, end));
            }
        }
        list.refresh();
        assertEquals(cover, list.cover(0, Long.MAX_VALUE));
    }

    @Property
    void aRunThatIsMissingIsAGapOfTheRangesThatTouchIt(@ForAll long seed) throws IOException {
        Random random = new Random(seed);
        Model model = new Model(random);
        List<RunName> cover = model.cover(0, Long.MAX_VALUE);
        if (cover.size() < 3) {
            return;
        }
        RunName gone = cover.get(1 + random.nextInt(cover.size() - 2));
        List.copyOf(model.runs).stream()
                .filter(run -> run.first() >= gone.first() && run.end() <= gone.end())
                .forEach(model::delete);
        long named = gone.first() + random.nextInt((int) gone.count());
        boolean isNamed = random.nextBoolean();
        if (isNamed) {
            GapName name =
                    new GapName(named, Math.min(model.end, gone.end() + random.nextInt(3)), 1, GapName.Reason.LOST);
            model.files.replace(name.file(0), new byte[0]);
        }
        RunList list = model.listed();
        for (int i = 0; i < 20; i++) {
            if (random.nextInt(5) == 0) {
                list.refresh();
            }
            long from = model.first + random.nextInt(MOST);
            long to = Math.min(model.end, from + 1 + random.nextInt(20));
            assertEquals(model.cover(from, to), list.cover(from, to), "from " + from + " to " + to);
            List<Gap> expected = new ArrayList<>();
            addGap(Math.max(from, gone.first()), Math.min(to, isNamed ? named : gone.end()), false, expected);
            addGap(Math.max(from, isNamed ? named : gone.end()), Math.min(to, gone.end()), true, expected);
            assertEquals(expected, list.gaps(from, to), "from " + from + " to " + to);
        }
        assertEquals(model.first, list.firstOffset());
        assertEquals(model.end, list.endOffset());
    }

    private static void addGap(long from, long to, boolean isNamed, List<Gap> gaps) {
        if (from < to) {
            gaps.add(new Gap(from, to, isNamed ? Optional.of(GapName.Reason.LOST) : Optional.empty()));
        }
    }

    @Property
    void aRunThatOverlapsInPartIsAnError(@ForAll long seed) {
        Random random = new Random(seed);
        Model model = new Model(random);
        List<RunName> cover = model.cover(0, Long.MAX_VALUE);
        RunName one = cover.get(random.nextInt(cover.size()));
        if (one.count() < 2 || one.end() == model.end) {
            return;
        }
        RunName wrong = run(one.end() - 1, one.end() + 1);
        if (model.runs.contains(wrong)) {
            return;
        }
        model.store(wrong);
        String message = failure(model);
        assertTrue(message.contains(wrong.toString()), message);
        assertTrue(message.contains("overlap"), message);
    }

    @Property
    void aRunOfOtherRecordsIsAnError(@ForAll long seed) {
        Random random = new Random(seed);
        Model model = new Model(random);
        List<RunName> cover = model.cover(0, Long.MAX_VALUE);
        RunName one = cover.get(random.nextInt(cover.size()));
        RunName wrong = new RunName(
                one.first(),
                one.end(),
                one.epoch(),
                one.minMicros(),
                one.maxMicros(),
                one.bytes(),
                one.crc() ^ 1 << random.nextInt(32));
        model.store(wrong);
        String message = failure(model);
        assertTrue(message.contains(one.toString()), message);
        assertTrue(message.contains(wrong.toString()), message);
    }

    @Property
    void aLongerRunMustBeWhatThoseInItMake(@ForAll long seed) {
        Random random = new Random(seed);
        Model model = new Model(random);
        List<RunName> whole = List.copyOf(model.runs);
        RunName wrong = null;
        for (RunName run : model.cover(0, Long.MAX_VALUE)) {
            if (model.runs.stream()
                            .noneMatch(
                                    each -> !each.equals(run) && each.first() >= run.first() && each.end() <= run.end())
                    && run.count() > 1) {
                long middle = run.first() + 1 + random.nextInt((int) run.count() - 1);
                if (RunName.bucketOf(run.first()) != RunName.bucketOf(middle)) {
                    continue; // halves in two buckets are not looked at together
                }
                model.delete(run);
                wrong = new RunName(
                        run.first(),
                        run.end(),
                        run.epoch(),
                        run.minMicros(),
                        run.maxMicros(),
                        run.bytes(),
                        run.crc() ^ 1);
                model.store(wrong);
                model.store(run(run.first(), middle));
                model.store(run(middle, run.end()));
                break;
            }
        }
        if (wrong == null) {
            assertEquals(whole, List.copyOf(model.runs));
            return;
        }
        String message = failure(model);
        assertTrue(message.contains(wrong.toString()), message);
    }

    private static String failure(Model model) {
        return assertThrows(ArchiveException.class, () -> model.listed().cover(0, Long.MAX_VALUE))
                .getMessage();
    }
}
