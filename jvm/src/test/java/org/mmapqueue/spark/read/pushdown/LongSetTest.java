package org.mmapqueue.spark.read.pushdown;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.LongPredicate;
import java.util.stream.LongStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

/** Sets compared with predicates over all numbers near their bounds. */
class LongSetTest {
    private static final List<Long> BOUNDS = List.of(
            Long.MIN_VALUE, Long.MIN_VALUE + 1, -3L, -1L, 0L, 1L, 2L, 5L, 9L, Long.MAX_VALUE - 1, Long.MAX_VALUE);

    @Provide
    Arbitrary<LongSet> sets() {
        Arbitrary<Long> bounds = Arbitraries.of(BOUNDS);
        Arbitrary<LongSet> simple = Arbitraries.oneOf(
                bounds.flatMap(low -> bounds.map(high -> LongSet.between(low, high))),
                bounds.map(LongSet::below),
                bounds.map(LongSet::above));
        return simple.list().ofMaxSize(6).map(all -> all.stream().reduce(LongSet.NONE, LongSet::or));
    }

    @Property
    void operationsMatchPredicates(@ForAll("sets") LongSet one, @ForAll("sets") LongSet two) {
        assertHolds(one.or(two), number -> one.contains(number) || two.contains(number));
        assertHolds(one.and(two), number -> one.contains(number) && two.contains(number));
        assertHolds(one.not(), number -> !one.contains(number));
        assertEquals(one, one.not().not());
        assertHolds(
                one,
                number -> one.intervals().stream().anyMatch(each -> each.low() <= number && number <= each.high()));
        assertTrue(one.intervals().stream()
                .allMatch(each -> one.hull().contains(each.low()) && one.hull().contains(each.high())));
        assertTrue(one.hull().intervals().size() <= 1);
    }

    private static void assertHolds(LongSet set, LongPredicate expected) {
        BOUNDS.stream()
                .flatMap(bound -> LongStream.rangeClosed(-1, 1).mapToObj(by -> bound + by))
                .forEach(number -> assertEquals(expected.test(number), set.contains(number), () -> set + " " + number));
        for (int i = 1; i < set.intervals().size(); i++) {
            assertTrue(
                    set.intervals().get(i - 1).high() < set.intervals().get(i).low() - 1, set::toString);
        }
    }

    @Test
    void isReadable() {
        assertEquals("[]", LongSet.NONE.toString());
        assertEquals("[..]", LongSet.ALL.toString());
        assertEquals(
                "[..2, 7, 9..]",
                LongSet.below(3).or(LongSet.between(7, 7)).or(LongSet.above(8)).toString());
        assertEquals(LongSet.NONE, LongSet.between(3, 2));
    }
}
