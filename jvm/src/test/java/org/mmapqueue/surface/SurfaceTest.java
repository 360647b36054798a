package org.mmapqueue.surface;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tag;
import net.jqwik.api.Tuple;
import net.jqwik.api.lifecycle.AddLifecycleHook;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.PropertySeed;
import org.mmapqueue.support.QuickDirectory;

/**
 * Any sequence of calls, closes, kills, losses of power, faults, exceptions of the log, interrupts, changes of the
 * clock, tools and shipments keeps what the queue promises: see {@link Reference}. The system property
 * jqwik.tries.default sets the number of sequences, {@link PropertySeed property.seed} their seed.
 */
@Tag("long-form")
@AddLifecycleHook(PropertySeed.class)
class SurfaceTest {
    /** A step that prints itself, for the report of a failure. */
    private record Named(String name, Surface.Step step) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Named named(String name, Surface.Step step) {
        return new Named(name, step);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void consumersHoldTheLog(@ForAll("steps") List<Named> steps, @ForAll long seed) throws Exception {
        run(Surface.Limit.NONE, steps, seed);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void retention(@ForAll("steps") List<Named> steps, @ForAll long seed) throws Exception {
        run(Surface.Limit.RETAIN, steps, seed);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void mostLag(@ForAll("steps") List<Named> steps, @ForAll long seed) throws Exception {
        run(Surface.Limit.LAG, steps, seed);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void mostAge(@ForAll("steps") List<Named> steps, @ForAll long seed) throws Exception {
        run(Surface.Limit.AGE, steps, seed);
    }

    @Property(shrinking = ShrinkingMode.BOUNDED)
    void overflow(@ForAll("steps") List<Named> steps, @ForAll long seed) throws Exception {
        run(Surface.Limit.OVERFLOW, steps, seed);
    }

    private static void run(Surface.Limit limit, List<Named> steps, long seed)
            throws IOException, InterruptedException {
        Path temp = QuickDirectory.create();
        try (Surface surface = new Surface(temp, limit, seed)) {
            surface.check();
            for (Named each : steps) {
                each.step().on(surface);
                surface.check();
            }
            surface.finish();
        } finally {
            Thread.interrupted(); // of a step that has failed: it would end the search for a shorter sequence
            Directories.delete(temp);
        }
    }

    @Provide
    Arbitrary<List<Named>> steps() {
        Arbitrary<Named> calls = Arbitraries.frequencyOf(
                Tuple.of(10, pushes()), Tuple.of(12, consuming()), Tuple.of(2, consumers()), Tuple.of(3, whole()));
        Arbitrary<Named> faulty = faulty(calls);
        Arbitrary<Named> step = Arbitraries.frequencyOf(
                Tuple.of(40, calls),
                Tuple.of(6, faulty),
                Tuple.of(3, withoutLog(Arbitraries.oneOf(calls, faulty))),
                Tuple.of(3, faultyFsync(calls)),
                Tuple.of(6, interrupted(calls)),
                Tuple.of(5, ends()),
                Tuple.of(7, outside()),
                Tuple.of(7, shipping()));
        return step.list().ofMinSize(1).ofMaxSize(60).withSizeDistribution(RandomDistribution.uniform());
    }

    private static Arbitrary<Integer> choice() {
        return Arbitraries.integers().between(0, 1000);
    }

    private static Arbitrary<List<Integer>> lengths() {
        return Arbitraries.frequencyOf(
                        Tuple.of(3, Arbitraries.integers().between(0, 100)),
                        Tuple.of(3, Arbitraries.integers().between(0, 2000)),
                        Tuple.of(1, Arbitraries.integers().between(3900, 4200)),
                        Tuple.of(1, Arbitraries.integers().between(0, 9000)))
                .list()
                .ofMinSize(1)
                .ofMaxSize(5);
    }

    private static Arbitrary<Named> pushes() {
        return Combinators.combine(Arbitraries.of(Surface.Push.class), lengths())
                .as((form, lengths) -> named("push " + form + " " + lengths, surface -> surface.push(form, lengths)));
    }

    private static Arbitrary<Named> consuming() {
        return Arbitraries.frequencyOf(
                Tuple.of(
                        4,
                        Combinators.combine(
                                        choice(),
                                        Arbitraries.integers().between(1, 12),
                                        Arbitraries.of(Surface.Pop.class))
                                .as((who, count, form) -> named(
                                        "consumer " + who + " pops " + count + ", " + form,
                                        surface -> surface.pop(who, count, form)))),
                Tuple.of(
                        5,
                        Combinators.combine(choice(), Arbitraries.of(Surface.Answer.class), choice())
                                .as((who, answer, which) -> named(
                                        "consumer " + who + ": " + answer + " " + which,
                                        surface -> surface.answer(who, answer, which)))),
                Tuple.of(
                        1,
                        Combinators.combine(
                                        choice(),
                                        Arbitraries.of(StartAt.Kind.EARLIEST, StartAt.Kind.LATEST, StartAt.Kind.OFFSET),
                                        choice())
                                .as((who, kind, which) -> named(
                                        "consumer " + who + " seeks " + kind + " " + which,
                                        surface -> surface.seek(who, kind, which)))));
    }

    private static Arbitrary<Named> consumers() {
        return Arbitraries.oneOf(
                Combinators.combine(Arbitraries.of("a", "b", "c"), Arbitraries.of(StartAt.EARLIEST, StartAt.LATEST))
                        .as((name, start) ->
                                named("create " + name + " " + start.kind(), surface -> surface.create(name, start))),
                choice().map(who -> named("delete consumer " + who, surface -> surface.delete(who))),
                Combinators.combine(choice(), Arbitraries.of(StartAt.EARLIEST, StartAt.LATEST))
                        .as((who, start) -> named(
                                "delete and create consumer " + who + " " + start.kind(),
                                surface -> surface.recreate(who, start))),
                choice().map(who -> named("close consumer " + who, surface -> surface.closeConsumer(who))),
                choice().map(who -> named("second handle: consumer " + who, surface -> surface.share(who))),
                Combinators.combine(choice(), Arbitraries.of(true, false), Arbitraries.of(true, false))
                        .as((who, isSecond, isShared) -> named(
                                (isSecond ? "second" : "first") + " handle leaves consumer " + who
                                        + (isShared ? ", which both use" : ""),
                                surface -> surface.leave(who, isSecond, isShared))),
                Arbitraries.just(named("close the second handle", Surface::closeSecond)));
    }

    private static Arbitrary<Named> whole() {
        return Arbitraries.oneOf(
                Combinators.combine(choice(), Arbitraries.integers().between(1, 20))
                        .as((which, count) ->
                                named("read " + which + ", " + count, surface -> surface.read(which, count))),
                Arbitraries.of(
                        named("flush", Surface::flush),
                        named("gc", Surface::gc),
                        named("drop aged", Surface::dropAged),
                        named("purge", Surface::purge),
                        named("forget the producer", Surface::forgetProducer),
                        named("reopen", Surface::reopen)));
    }

    private static Arbitrary<Named> faulty(Arbitrary<Named> steps) {
        return Combinators.combine(
                        steps, Arbitraries.integers().between(0, 8), Arbitraries.of(FaultyStorage.Fault.class))
                .as((step, number, fault) -> named(
                        step + ", call " + number + " fails: " + fault,
                        surface -> surface.faulty(number, fault, step.step())));
    }

    private static Arbitrary<Named> faultyFsync(Arbitrary<Named> steps) {
        return Combinators.combine(steps, Arbitraries.integers().between(0, 3))
                .as((step, number) -> named(
                        step + ", fsync " + number + " fails during an interrupt",
                        surface -> surface.faultyFsync(number, step.step())));
    }

    private static Arbitrary<Named> withoutLog(Arbitrary<Named> steps) {
        return steps.map(step -> named(step + ", the log throws", surface -> surface.withoutLog(step.step())));
    }

    private static Arbitrary<Named> interrupted(Arbitrary<Named> steps) {
        return steps.map(step -> named(step + ", interrupted", surface -> surface.interrupted(step.step())));
    }

    private static Arbitrary<Named> ends() {
        return Arbitraries.oneOf(
                Arbitraries.just(named("kill", Surface::kill)),
                Arbitraries.of(0, 50, 100)
                        .map(percent -> named("lose power, " + percent, surface -> surface.losePower(percent))));
    }

    private static Arbitrary<Named> outside() {
        Arbitrary<Integer> segments = Arbitraries.integers().between(6, 24);
        Arbitrary<Integer> sizes = Arbitraries.of(4096, 8192, 16384);
        return Arbitraries.oneOf(
                Arbitraries.of(
                        named("verify", Surface::verify),
                        named("back up", Surface::backUp),
                        named("restore", Surface::restore)),
                Arbitraries.of(true, false)
                        .map(reset -> named("repair, reset clock " + reset, surface -> surface.repair(reset))),
                Combinators.combine(choice(), Arbitraries.of(true, false, false), choice())
                        .as((which, header, at) -> named(
                                "damage " + which + (header ? ", header, " : ", ") + at,
                                surface -> surface.damage(which, header, at))),
                Combinators.combine(lengths(), Arbitraries.of(true, false))
                        .as((lengths, isKilled) -> named(
                                "push changing payloads " + lengths + (isKilled ? ", kill" : ""),
                                surface -> surface.changed(lengths, isKilled))),
                Combinators.combine(segments, sizes)
                        .as((count, size) ->
                                named("resize " + count + " x " + size, surface -> surface.resize(count, size))),
                Combinators.combine(segments, sizes)
                        .as((count, size) ->
                                named("copy " + count + " x " + size, surface -> surface.copy(count, size))),
                choice().map(which -> named("clock ahead " + which, surface -> surface.clockAhead(which))),
                choice().map(which -> named("age " + which, surface -> surface.age(which))),
                Combinators.combine(choice(), Arbitraries.integers().between(1, 12))
                        .as((who, count) -> named(
                                "read only: consumer " + who + " pops " + count,
                                surface -> surface.readOnly(who, count))));
    }

    private static Arbitrary<Named> shipping() {
        return Arbitraries.frequencyOf(
                Tuple.of(
                        5,
                        Combinators.combine(Arbitraries.of(Surface.Shipping.class), lengths())
                                .as((how, lengths) ->
                                        named("ship: " + how + " " + lengths, surface -> surface.ship(how, lengths)))),
                Tuple.of(1, Arbitraries.just(named("change the archive", Surface::changeArchive))));
    }
}
