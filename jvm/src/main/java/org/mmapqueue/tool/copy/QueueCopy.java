package org.mmapqueue.tool.copy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.OverflowFile;
import org.mmapqueue.recovery.IncompleteCopy;
import org.mmapqueue.recovery.RingWriter;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.report.CopyReport;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.scan.LogRecords;
import org.mmapqueue.tool.scan.Probe;
import org.mmapqueue.tool.scan.WalkResult;
import org.mmapqueue.tool.verify.InFlightCheck;
import org.mmapqueue.tool.verify.Survey;

/**
 * One copy of a whole queue into a ring of another geometry. Records keep offset, timestamp and batch, consumers their
 * offsets; all positions change. The meta page is written last: without it the target is not a queue. For one use.
 */
final class QueueCopy {
    private final Storage storage;
    private final Survey survey;
    private final WalkResult walk;
    private final Path target;
    private final MetaFields facts;
    private final Progress progress;
    /** Positions in the copy by offset: of consumers, and of the ends of records in flight. */
    private final Map<Long, Long> positions = new HashMap<>();

    /** The offsets of these positions that the copy has not reached. */
    private final TreeSet<Long> wanted = new TreeSet<>();

    private final Map<String, Long> inFlightEnds = new HashMap<>();
    private RingWriter ring;
    private long first;
    private long records;

    /**
     * @param survey a survey that found no damage
     * @param progress receives the bytes of the log that were copied
     * @throws ConfigException if the queue cannot have such a ring
     */
    QueueCopy(Storage storage, Survey survey, Path target, RingSize size, Progress progress) {
        this.storage = storage;
        this.survey = survey;
        this.walk = survey.walk;
        this.target = target;
        this.facts = size.of(survey.facts);
        this.progress = progress;
    }

    /**
     * Writes the copy, and fsyncs it.
     *
     * @param elsewhere whether the target is another queue directory, which gets the files without positions, too
     * @throws ConfigException if the records that a consumer needs do not fit; nothing was written
     */
    CopyReport run(boolean elsewhere) throws IOException {
        long needed = needed();
        long oldest = survey.meta.isRetaining() ? Math.min(walk.firstNumber, needed) : needed;
        long excess = excess(oldest, needed);
        storage.createDirectories(target.resolve(ConsumerPage.DIRECTORY));
        IncompleteCopy.begin(storage, target);
        notePositions(needed);
        try {
            writeRecords(oldest, needed, excess);
        } finally {
            if (ring != null) {
                ring.close();
            }
        }
        writeConsumers();
        if (elsewhere) {
            survey.producers.copyTo(target);
            OverflowFile.copy(storage, survey.directory, target);
        }
        IncompleteCopy.end(storage, target);
        writeMeta(needed);
        return new CopyReport(
                target.toString(),
                records,
                first,
                walk.endNumber,
                facts.segmentSize(),
                facts.capacity(),
                Math.max(0, first - oldest));
    }

    // ---- records

    // The lowest offset that some consumer needs.
    private long needed() {
        if (survey.probes.isEmpty()) {
            return survey.heldFrom == null ? walk.firstNumber : offset(survey.heldFrom);
        }
        return survey.probes.values().stream().mapToLong(this::offset).min().orElseThrow();
    }

    // The offset of a cursor, at most the log end: a consumer beyond it had acked records that a loss of power has
    // removed.
    private long offset(Probe probe) {
        return probe.isFound() ? probe.resumeOffset : walk.endNumber;
    }

    // Bytes of acked records for which the new ring has no room.
    private long excess(long oldest, long needed) throws IOException {
        long room = RingSize.room(facts);
        if (walk.end - walk.start <= room) {
            return 0;
        }
        long all = 0;
        long unacked = 0;
        LogRecords log = new LogRecords(survey.slots, survey.facts, walk);
        while (log.next()) {
            long bytes = RingWriter.bytes(log.header());
            all += log.number() >= oldest ? bytes : 0;
            unacked += log.number() >= needed ? bytes : 0;
        }
        if (unacked > room) {
            throw new ConfigException(
                    "capacity",
                    Long.toString((long) facts.capacity() * facts.segmentSize()),
                    "at least " + RingSize.files(facts, unacked) + ", since " + (walk.endNumber - needed)
                            + " records are not acked by every consumer");
        }
        return Math.max(0, all - room);
    }

    private void notePositions(long needed) throws IOException {
        wanted.addAll(List.of(needed, walk.endNumber));
        for (Map.Entry<String, Probe> each : survey.probes.entrySet()) {
            wanted.add(offset(each.getValue()));
            if (hasInFlight(each.getKey())) {
                Path file = survey.inventory.inFlight(each.getKey());
                long end = InFlightCheck.end(storage, file);
                inFlightEnds.put(each.getKey(), end);
                wanted.add(end);
            }
        }
    }

    private boolean hasInFlight(String consumer) {
        return survey.inventory.inFlight.contains(consumer) && !survey.uselessInFlight.contains(consumer);
    }

    private void writeRecords(long oldest, long needed, long excess) throws IOException {
        LogRecords log = new LogRecords(survey.slots, survey.facts, walk);
        long left = excess;
        long timestamp = 0;
        while (log.next()) {
            timestamp = Math.max(timestamp, Math.max(log.timestamp(), log.baseTime()));
            boolean isExcess = log.number() < needed && left > 0;
            if (log.number() < oldest || isExcess) {
                left -= isExcess && log.number() >= oldest ? RingWriter.bytes(log.header()) : 0;
                continue;
            }
            if (ring == null) {
                begin(log.number(), timestamp);
            }
            ring.notOlder(log.baseTime());
            locate(log.number());
            if (!log.isGap()) {
                ring.append(log.header(), log.timestamp(), log.payload());
                records++;
            } else if (log.lost() > 0) {
                ring.appendGap(log.lost());
            }
            progress.at(log.bytesRead(), walk.end - walk.start);
        }
        if (ring == null) {
            begin(walk.endNumber, Math.max(timestamp, lastTimestamp()));
        }
        ring.finish();
        locate(Long.MAX_VALUE);
    }

    // Offsets up to this one, at which the ring continues, are here.
    private void locate(long offset) {
        while (!wanted.isEmpty() && wanted.first() <= offset) {
            positions.put(wanted.pollFirst(), ring.position());
        }
    }

    private void begin(long number, long timestamp) {
        first = number;
        ring = new RingWriter(storage, target, facts, number, timestamp);
    }

    // For a log without records: the lower bound of later timestamps, since they must not decrease.
    private long lastTimestamp() throws IOException {
        if (walk.end == 0) {
            return 0;
        }
        SegmentHeader header =
                survey.slots.get(survey.geometry.segmentOfEnd(walk.end)).header();
        return header == null ? 0 : header.baseTime();
    }

    // ---- cursors

    private void writeConsumers() throws IOException {
        Path directory = target.resolve(ConsumerPage.DIRECTORY);
        for (Map.Entry<String, ConsumerImage> each : survey.pages.entrySet()) {
            ConsumerImage page = each.getValue();
            long position = positions.get(offset(survey.probes.get(each.getKey())));
            boolean isDropped = page.get(ConsumerImage.Word.DROPPED) > page.get(ConsumerImage.Word.COMMITTED);
            // If dropped is ahead of committed, the consumer throws DroppedException at its next call. The records in
            // between do not exist.
            page.put(ConsumerImage.Word.COMMITTED, isDropped ? 0 : position);
            page.put(ConsumerImage.Word.READING, isDropped ? 0 : position);
            page.put(ConsumerImage.Word.DROPPED, isDropped ? position : 0);
            page.write(storage, inTarget(survey.inventory.page(each.getKey())));
        }
        for (Map.Entry<String, Long> each : inFlightEnds.entrySet()) {
            Path file = survey.inventory.inFlight(each.getKey());
            InFlightCheck.copy(storage, file, inTarget(file), positions.get(each.getValue()));
        }
        storage.syncDirectory(directory);
    }

    private Path inTarget(Path file) {
        return target.resolve(survey.directory.relativize(file));
    }

    private void writeMeta(long needed) throws IOException {
        MetaImage meta = survey.meta;
        int size = facts.segmentSize();
        meta.fields(facts);
        meta.put(Word.GAPS_END, walk.gapsEnd, size);
        meta.put(Word.HELD_FROM, survey.probes.isEmpty() ? positions.get(needed) : 0, size);
        meta.closedWith(ring.start(), ring.position(), walk.endNumber, walk.newest);
        meta.write(storage, target);
    }
}
