package org.mmapqueue.tool.verify;

import java.nio.file.Path;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.tool.scan.Probe;

/** Checks the cursors of the meta page and of consumers, against each other and against the log. Not thread-safe. */
record CursorCheck(Survey survey, Path metaFile) {

    /** Checks the order of the cursors, before the walk. */
    void checkOrder() {
        if (survey.rebuilt) {
            return;
        }
        long writing = survey.writing();
        if (writing < 0 || survey.watermark.position < 0 || survey.watermark.position > writing) {
            corrupt(
                    Word.WATERMARK,
                    "found watermark " + survey.watermark.position + " and writing " + writing
                            + ", expected 0 <= watermark <= writing");
        }
        if (!survey.isReclaimedSound()) {
            corrupt(
                    Word.RECLAIMED,
                    "found reclaimed " + survey.meta.get(Word.RECLAIMED)
                            + " and writing " + writing + ", expected a multiple of " + survey.facts.segmentSize()
                            + ", 0 <= reclaimed <= writing");
        }
        long segments =
                survey.geometry.segmentOfEnd(Math.max(0, writing)) - survey.geometry.segmentOf(survey.lowWatermark());
        if (segments >= survey.facts.capacity()) {
            corrupt(
                    Word.WRITING,
                    "found writing " + writing + ", " + segments + " segments after"
                            + " the low watermark, expected less than " + survey.facts.capacity());
        }
        long held = survey.meta.get(Word.HELD_FROM);
        if (held < 0 || survey.isClean() && held > writing) {
            corrupt(
                    Word.HELD_FROM,
                    "found held from " + held + " and writing " + writing + ", expected 0 <= held from <= writing");
        }
        survey.pages.forEach(this::checkWords);
    }

    private void checkWords(String name, ConsumerImage page) {
        if (survey.damagedPages.contains(name)) {
            return;
        }
        long committed = page.get(ConsumerImage.Word.COMMITTED);
        if (committed < 0) {
            corrupt(name, ConsumerImage.Word.COMMITTED, "found committed " + committed + ", expected at least 0");
            survey.probes.put(name, new Probe(committed));
        }
        long dropped = page.get(ConsumerImage.Word.DROPPED);
        if (dropped < 0) {
            corrupt(name, ConsumerImage.Word.DROPPED, "found dropped " + dropped + ", expected at least 0");
        }
    }

    private void corrupt(String consumer, ConsumerImage.Word word, String detail) {
        survey.corrupt(survey.inventory.page(consumer), word.at(), detail);
    }

    /** Checks that cursors are at the ends of records, after the walk. */
    void checkPositions() {
        if (survey.isClean() && !survey.endIsKnown && survey.walk.end != survey.writing()) {
            corrupt(
                    Word.WRITING,
                    "found writing " + survey.writing() + ", expected " + survey.walk.end + ", where the records lead");
        }
        checkMirror();
        long gapsEnd = survey.meta.get(Word.GAPS_END);
        if (!survey.rebuilt && gapsEnd < survey.walk.gapsEnd) {
            corrupt(
                    Word.GAPS_END,
                    "found gaps end " + gapsEnd + ", expected at least " + survey.walk.gapsEnd
                            + ", the offset after the last gap");
        }
        if (!survey.rebuilt && survey.watermark.position >= survey.walk.start) {
            checkPosition(Word.WATERMARK, "watermark", survey.watermark);
        }
        if (survey.heldFrom != null) {
            checkPosition(Word.HELD_FROM, "held from", survey.heldFrom);
        }
        survey.probes.forEach(this::checkConsumer);
    }

    private void checkPosition(Word word, String what, Probe probe) {
        if (isAstray(probe)) {
            corrupt(
                    word,
                    "found " + what + " " + probe.position + ", expected the end of a record, such as "
                            + probe.resumePosition);
        }
    }

    private void checkConsumer(String name, Probe probe) {
        Path file = survey.inventory.page(name);
        int at = ConsumerImage.Word.COMMITTED.at();
        if (!probe.isFound()) {
            if (survey.isClean()) {
                survey.corrupt(
                        file,
                        at,
                        "found committed " + probe.position + ", expected at most " + survey.walk.end
                                + ", the end of the log");
            }
            probe.resumePosition = survey.walk.end;
            probe.resumeOffset = survey.walk.endNumber;
        } else if (!survey.rebuilt
                && probe.position >= 0
                && probe.position < Math.min(survey.walk.start, survey.reclaimed())) {
            // The consumer was never announced to the writer.
            survey.orphaned(
                    file,
                    at,
                    "consumer " + name + " at position " + probe.position
                            + ", which is reclaimed: its process ended while it created or moved it;"
                            + " it continues with the oldest record");
        } else if (isAstray(probe)) {
            survey.corrupt(
                    file,
                    at,
                    "found committed " + probe.position + ", expected the end of a record; the next is "
                            + probe.resumePosition + ", before offset " + probe.resumeOffset);
        }
    }

    // Whether no record ends at a cursor. A position inside a hole was valid before the records there were lost.
    private boolean isAstray(Probe probe) {
        return probe.isFound()
                && probe.isMisplaced()
                && survey.walk.holes.stream().noneMatch(each -> each.contains(probe.position, survey.geometry));
    }

    private void corrupt(Word word, String detail) {
        survey.corrupt(metaFile, word.at(), detail);
    }

    // Compares the readable table with the words of a closed queue: they have the same values, or one is damaged.
    private void checkMirror() {
        boolean writingIsRight = survey.walk.end == survey.writing();
        if (survey.isClean() && writingIsRight && !survey.isMirrored(Word.WRITING)) {
            survey.corrupt(
                    metaFile,
                    Word.WRITING.inTable(),
                    "found " + survey.meta.tableText(Word.WRITING) + " in the table, expected writing, "
                            + survey.writing());
        }
        if (survey.isClean() && !survey.isMirrored(Word.WATERMARK)) {
            survey.corrupt(
                    metaFile,
                    Word.WATERMARK.inTable(),
                    "found " + survey.meta.tableText(Word.WATERMARK) + " in the table, and watermark "
                            + survey.watermark.position + ", expected the same");
        }
    }
}
