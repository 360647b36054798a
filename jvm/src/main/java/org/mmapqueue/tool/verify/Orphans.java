package org.mmapqueue.tool.verify;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.segment.SegmentHeader;

/** Reports files that no queue uses. */
record Orphans(Survey survey) {

    void run() {
        Map<String, String> odd = new TreeMap<>();
        survey.inventory.odd.forEach(file -> odd.put(
                file.toString(),
                file.toString().endsWith(".new")
                        ? "left by a crash while the file was created"
                        : "no queue has such a file"));
        long first = survey.geometry.segmentOf(survey.walk.start);
        long last = survey.geometry.segmentOfEnd(survey.walk.end);
        for (Inventory.SegmentFile file : survey.inventory.segments.values()) {
            String why = why(file, first, last);
            boolean tooLong = file.slot() < survey.facts.capacity() && file.length() > survey.facts.segmentSize();
            if (tooLong && !isUsed(file, first, last)) {
                survey.corrupt(
                        file.path(),
                        survey.facts.segmentSize(),
                        "found " + file.length() + " bytes, expected " + survey.facts.segmentSize());
                survey.useless.add(file.path());
            } else if (why != null) {
                odd.put(file.path().toString(), why);
            }
        }
        odd.forEach((file, why) -> survey.orphaned(Path.of(file), 0, why));
    }

    private boolean isUsed(Inventory.SegmentFile file, long first, long last) {
        return last >= 0 && last - Math.floorMod(last - file.slot(), (long) survey.facts.capacity()) >= first;
    }

    // Why a segment file is orphaned. Null for a segment of the log, a preallocated one, and one of the last
    // generation.
    private String why(Inventory.SegmentFile file, long first, long last) {
        int capacity = survey.facts.capacity();
        if (file.slot() >= capacity) {
            return "slot " + file.slot() + " of a ring of " + capacity;
        }
        if (isUsed(file, first, last) || file.isEmpty()) {
            return null;
        }
        SegmentHeader header = file.header();
        if (header == null) {
            return "a segment outside of the log, with a damaged header";
        }
        if (!header.queue().equals(survey.facts.uuid())) {
            return "a segment of queue " + header.queue();
        }
        if (header.id() > last) {
            return "segment " + header.id() + ", after the log end in segment " + last;
        }
        return header.id() % capacity == file.slot() ? null : "segment " + header.id() + ", of another slot";
    }
}
