package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.segment.FillBlocks;
import org.mmapqueue.segment.Geometry;

/**
 * All that a flusher fsyncs, made of memory: the page of a queue, and those of two consumers. Each
 * fsync, and each store to the recovery point, is noted.
 */
final class SyncedMemory {
    /** Bytes of a block. */
    static final int BLOCK = 4096;

    /** Methods that compute their value from others. */
    private static final Set<String> COMPUTED = Set.of("needed", "isRetaining");

    final FillBlocks blocks = new FillBlocks(BLOCK);
    final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    final ConsumerCursors named = page("named", ConsumerCursors.class);
    /** A consumer whose fsyncs are not noted. */
    final ConsumerCursors unnoted = page("", ConsumerCursors.class);

    final MetaPage meta = page("meta", MetaPage.class);
    /** Thrown by every fsync from now on with a name that begins with {@link #failsAt}. */
    volatile IOException fails;

    volatile String failsAt = "";
    /** The pages of producers. */
    final List<ProducerPage> producers = new ArrayList<>();
    /** Run within each fsync. */
    volatile Consumer<String> during = what -> {};

    Flusher flusher(Geometry geometry, long periodMillis) {
        return new Flusher(
                "test-flusher",
                new FlushedPages(meta, () -> List.of(unnoted, named), () -> producers),
                geometry,
                blocks,
                (id, from, to) -> call("segment " + id + " " + from + "-" + to),
                periodMillis);
    }

    Syncer syncer(Geometry geometry) {
        return new Syncer(
                new FlushedPages(meta, () -> List.of(unnoted, named), List::of),
                geometry,
                blocks,
                (id, from, to) -> call("segment " + id + " " + from + "-" + to),
                new FlusherState(),
                () -> {});
    }

    void assertCalls(String... expected) {
        assertEquals(List.of(expected), List.copyOf(calls));
        calls.clear();
    }

    private void call(String what) throws IOException {
        calls.add(what);
        during.accept(what);
        if (fails != null && what.startsWith(failsAt)) {
            throw fails;
        }
    }

    // A page with a word for each getter without arguments: what the setter of that name was given last, or 0.
    private <T> T page(String name, Class<T> type) {
        Map<String, Object> words = new ConcurrentHashMap<>();
        InvocationHandler calls = (page, method, given) -> {
            if (COMPUTED.contains(method.getName())) {
                return InvocationHandler.invokeDefault(page, method, given);
            }
            if (given != null) {
                store(words, method.getName(), given[0]);
            }
            switch (method.getName()) {
                case "force" -> {
                    if (!name.isEmpty()) {
                        call(name);
                    }
                }
                case "mirror" -> {} // nothing to look at
                case "countConsumerChange" -> words.merge("consumerChanges", 1L, (one, two) -> (long) one + (long) two);
                default -> {
                    return method.getReturnType() == void.class ? null : words.getOrDefault(method.getName(), 0L);
                }
            }
            return null;
        };
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, calls));
    }

    private void store(Map<String, Object> words, String word, Object value) {
        if (word.equals("watermark")) {
            calls.add(word + " " + value);
        }
        words.put(word.equals("retain") ? "retainMillis" : word, value);
    }
}
