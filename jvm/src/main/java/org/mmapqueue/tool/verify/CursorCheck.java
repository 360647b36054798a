package org.mmapqueue.tool.verify;

import java.nio.file.Path;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.scan.Probe;

/** Checks the cursors of the meta page and of consumers, against each other and against the log. Not thread-safe. */
final class CursorCheck {
    private final Survey survey;
    private final Path metaFile;

    CursorCheck(Survey survey, Path metaFile) {
        this.survey = survey;
        this.metaFile = metaFile;
    }

    /** Checks the order of the cursors, before the walk. */
    void checkOrder() {
        if (survey.rebuilt) {
            return;
        }
        long writing = survey.writing();
        if (writing < 0 || survey.watermark.position < 0 || survey.watermark.position > writing) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.WATERMARK.at(),
                    "found watermark " + survey.watermark.position + " and writing " + writing
                            + ", expected 0 <= watermark <= writing");
        }
        if (!survey.isReclaimedSound()) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.RECLAIMED.at(),
                    "found reclaimed " + survey.meta.get(MetaImage.Word.RECLAIMED)
                            + " and writing " + writing + ", expected a multiple of " + survey.facts.segmentSize()
                            + ", 0 <= reclaimed <= writing");
        }
        long segments =
                survey.geometry.segmentOfEnd(Math.max(0, writing)) - survey.geometry.segmentOf(survey.lowWatermark());
        if (segments >= survey.facts.capacity()) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.WRITING.at(),
                    "found writing " + writing + ", " + segments + " segments after"
                            + " the low watermark, expected less than " + survey.facts.capacity());
        }
        long held = survey.meta.get(MetaImage.Word.HELD_FROM);
        if (held < 0 || survey.isClean() && held > writing) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.HELD_FROM.at(),
                    "found held from " + held + " and writing " + writing + ", expected 0 <= held from <= writing");
        }
        if (survey.meta.hasDefault()) {
            checkWords(
                    Inventory.DEFAULT,
                    metaFile,
                    MetaImage.Word.COMMITTED.at(),
                    survey.meta.get(MetaImage.Word.COMMITTED),
                    MetaImage.Word.DROPPED.at(),
                    survey.meta.get(MetaImage.Word.DROPPED));
        }
        survey.pages.forEach((name, page) -> checkWords(
                name,
                survey.inventory.page(name),
                ConsumerImage.Word.COMMITTED.at(),
                page.get(ConsumerImage.Word.COMMITTED),
                ConsumerImage.Word.DROPPED.at(),
                page.get(ConsumerImage.Word.DROPPED)));
        if (survey.isClean() && survey.meta.hasDefault()) {
            long committed = survey.meta.get(MetaImage.Word.COMMITTED);
            long reading = survey.meta.get(MetaImage.Word.READING);
            if (committed > reading || reading > writing) {
                survey.corrupt(
                        metaFile,
                        MetaImage.Word.READING.at(),
                        "found committed " + committed + ", reading " + reading + " and writing " + writing
                                + ", expected committed <= reading <= writing");
            }
        }
    }

    private void checkWords(String name, Path file, int committedAt, long committed, int droppedAt, long dropped) {
        if (survey.damagedPages.contains(name)) {
            return;
        }
        if (committed < 0) {
            survey.corrupt(file, committedAt, "found committed " + committed + ", expected at least 0");
            survey.probes.put(name, new Probe(committed));
        }
        if (dropped < 0) {
            survey.corrupt(file, droppedAt, "found dropped " + dropped + ", expected at least 0");
        }
    }

    /** Checks that cursors are at the ends of records, after the walk. */
    void checkPositions() {
        if (survey.isClean() && !survey.endIsKnown && survey.walk.end != survey.writing()) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.WRITING.at(),
                    "found writing " + survey.writing() + ", expected " + survey.walk.end + ", where the records lead");
        }
        checkMirror();
        if (!survey.rebuilt
                && survey.watermark.isFound()
                && survey.watermark.isMisplaced()
                && survey.watermark.position >= survey.walk.start
                && !isInHole(survey.watermark.position)) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.WATERMARK.at(),
                    "found watermark " + survey.watermark.position + ", expected the end of a record, such as "
                            + survey.watermark.resumePosition);
        }
        if (survey.heldFrom != null
                && survey.heldFrom.isFound()
                && survey.heldFrom.isMisplaced()
                && !isInHole(survey.heldFrom.position)) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.HELD_FROM.at(),
                    "found held from " + survey.heldFrom.position + ", expected the end of a record, such as "
                            + survey.heldFrom.resumePosition);
        }
        survey.probes.forEach((name, probe) -> {
            Path file = name.equals(Inventory.DEFAULT) ? metaFile : survey.inventory.page(name);
            int at = name.equals(Inventory.DEFAULT) ? MetaImage.Word.COMMITTED.at() : ConsumerImage.Word.COMMITTED.at();
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
                survey.findings.add(Finding.of(
                        Finding.Kind.ORPHANED,
                        file,
                        at,
                        "consumer " + name + " at position "
                                + probe.position
                                + ", which is reclaimed: its process ended while it created or moved it;"
                                + " it continues with the oldest record"));
            } else if (probe.isMisplaced() && !isInHole(probe.position)) {
                survey.corrupt(
                        file,
                        at,
                        "found committed " + probe.position + ", expected the end of a record; the next is "
                                + probe.resumePosition + ", before offset " + probe.resumeOffset);
            }
        });
    }

    // Compares the readable table with the words of a closed queue: they have the same values, or one is damaged.
    private void checkMirror() {
        boolean writingIsRight = survey.walk.end == survey.writing();
        if (survey.isClean() && writingIsRight && !survey.isMirrored(MetaImage.Word.WRITING)) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.WRITING.inTable(),
                    "found " + survey.meta.tableText(MetaImage.Word.WRITING) + " in the table, expected writing, "
                            + survey.writing());
        }
        if (survey.isClean() && !survey.isMirrored(MetaImage.Word.WATERMARK)) {
            survey.corrupt(
                    metaFile,
                    MetaImage.Word.WATERMARK.inTable(),
                    "found " + survey.meta.tableText(MetaImage.Word.WATERMARK) + " in the table, and watermark "
                            + survey.watermark.position + ", expected the same");
        }
    }

    // Whether a position is inside a hole: it was valid before the records there were lost.
    private boolean isInHole(long position) {
        return survey.walk.holes.stream()
                .anyMatch(each -> position > survey.geometry.position(each.fromId, each.from)
                        && position < survey.geometry.position(each.toId, each.to));
    }
}
