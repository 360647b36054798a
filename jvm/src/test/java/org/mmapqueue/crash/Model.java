package org.mmapqueue.crash;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.LongFunction;
import org.mmapqueue.harness.ExpectedLog;
import org.mmapqueue.harness.TestRecord;
import org.mmapqueue.harness.Violation;

/**
 * What one directory must hold, and may hold, after the journals of the processes that worked on it. Offsets are
 * counted from the first record that the directory ever had, also in version 1. Not thread-safe.
 */
final class Model {
    private static final long UNKNOWN = -1;

    private final ExpectedLog log = new ExpectedLog();
    private final List<ConsumerModel> consumers = new ArrayList<>();
    private final ProducerModel producers = new ProducerModel();
    private final int version;
    /** Version 1: the record that has had offset 0 since the last open. */
    private long base;

    private long returned;

    Model(Plan plan) {
        this.version = plan.version();
        for (int i = 0; i < Plan.NAMES.size(); i++) {
            consumers.add(new ConsumerModel(Plan.NAMES.get(i), plan.isSolo(i), i == 0 && version == 1, version == 2));
        }
    }

    ConsumerModel consumer(int index) {
        return consumers.get(index);
    }

    /** The offset after the last record that is known to exist. */
    long end() {
        return log.end();
    }

    /** The number of records of returned pushes. */
    long returned() {
        return returned;
    }

    void apply(int process, boolean writes, Event event) {
        long thread = (long) process << 8 | event.actor();
        switch (event.kind()) {
            case OPEN -> {
                if (writes && event.phase() == Event.Phase.DONE) {
                    opened(event.value(0), event.value(1));
                }
            }
            case PUSH -> push(thread, event);
            case IDEMPOTENT_PUSH -> pushOnce(thread, event);
            case FORGET -> producers.forget(event);
            case CLOSE -> {
                if (event.phase() == Event.Phase.DONE) {
                    consumers.forEach(each -> each.closedBy(process));
                }
            }
            case GET -> {
                if (event.phase() == Event.Phase.DONE) {
                    log.learn(event.value(0), event.value(1));
                }
            }
            case FAULT -> throw new Violation("process " + process + " has found a fault");
            case FLUSH -> consumers.forEach(each -> each.flush(process, event));
            case READY, GC -> {}
            default -> {
                Event absolute = event.from(base);
                if (event.kind() == Event.Kind.POP && event.phase() == Event.Phase.DONE) {
                    for (int i = 1; i < event.values().length; i += 2) {
                        log.learn(absolute.value(i), event.value(i + 1));
                    }
                }
                consumer(event.consumer()).apply(process, absolute);
            }
        }
    }

    // The log was checked before this open, and nothing has been pushed since.
    private void opened(long endOffset, long firstKey) {
        if (version == 1) {
            base = firstKey == UNKNOWN ? log.end() : log.offsetOf(firstKey);
        }
        if (base + endOffset != log.end()) {
            throw new Violation(
                    "the log ended at offset " + log.end() + ", but is opened with the end " + (base + endOffset));
        }
    }

    private void push(long thread, Event event) {
        switch (event.phase()) {
            case BEGIN -> log.begin(thread, event.value(0), event.value(1));
            case THREW -> log.rejected(thread);
            case DONE -> returned += log.returned(thread, event.value(0) + base);
        }
    }

    private void pushOnce(long thread, Event event) {
        producers.push(thread, event);
        if (event.phase() == Event.Phase.DONE && event.value(0) < 0) {
            log.rejected(thread); // its batch is in the log already, with another key
        } else {
            push(thread, event);
        }
    }

    /** The offset of the first of these records, by the first one that is known; version 1 stores no offsets. */
    long baseOf(List<TestRecord> records) {
        for (int i = 0; i < records.size(); i++) {
            long offset = log.offsetOf(records.get(i).key());
            if (offset >= i) {
                return offset - i;
            }
        }
        return log.end(); // all known records were acked
    }

    void learn(long offset, TestRecord record) {
        log.learn(offset, record.key());
    }

    /** Checks all records from an offset to the log end: those of returned pushes must exist. */
    void checkLog(long from, List<TestRecord> records) {
        log.check(from, records, log.end(), false);
        log.abandonPushes();
    }

    /**
     * Checks what the queue knows of its idempotent producers; after {@link #checkLog}.
     *
     * @param from the first offset of that check
     */
    void checkProducers(long from, LongFunction<OptionalLong> lastSequence) {
        producers.check(lastSequence, key -> {
            if (log.offsetOf(key) >= 0) {
                return ProducerModel.Found.YES;
            }
            for (long offset = 0; offset < from; offset++) {
                if (log.keyAt(offset) == UNKNOWN) {
                    return ProducerModel.Found.UNKNOWN; // a consumer was moved past it, and its slot reused
                }
            }
            return ProducerModel.Found.NO;
        });
    }

    /** The last sequence of each idempotent producer. */
    Map<Long, Long> sequences() {
        return producers.sequences();
    }
}
