package org.mmapqueue.tool;

import org.mmapqueue.tool.report.ConsumerState;
import org.mmapqueue.tool.report.CopyReport;
import org.mmapqueue.tool.report.RepairReport;
import org.mmapqueue.tool.report.VerifyReport;

/** Formats reports for the command line. */
final class Text {
    private Text() {}

    static String of(VerifyReport report) {
        StringBuilder text = new StringBuilder();
        line(text, report.path() + ": " + verdict(report));
        if (report.version() == 2) {
            line(
                    text,
                    "  records    " + report.records() + " whole, "
                            + offsets(report.firstOffset(), report.endOffset()) + ", " + report.payloadBytes()
                            + " bytes, in " + report.segments() + " segments");
        } else if (report.version() == 1) {
            line(
                    text,
                    "  records    " + report.records() + " by their lengths, " + report.payloadBytes()
                            + " bytes; format version 1 has no checksums: damage of their bytes cannot be detected");
        }
        for (ConsumerState each : report.consumers()) {
            line(
                    text,
                    "  consumer   " + each.name() + " at position " + each.position()
                            + (report.version() == 2 ? ", offset " + each.offset() : "")
                            + (each.resumePosition() == each.position()
                                    ? ""
                                    : ": no record ends there, the next one begins at position "
                                            + each.resumePosition()));
        }
        report.findings().forEach(each -> line(text, "  " + each));
        return text.toString();
    }

    private static String verdict(VerifyReport report) {
        if (!report.isWhole()) {
            return "DAMAGED, " + (report.lost() > 0 ? "at most " + report.lost() + " records lost" : "no record lost");
        }
        return report.version() == 2 && !report.clean() ? "whole; not closed, the next open recovers it" : "whole";
    }

    static String of(RepairReport report) {
        StringBuilder text = new StringBuilder();
        line(text, report.path() + ": repaired");
        report.actions().forEach(each -> line(text, "  " + each));
        report.lost().forEach(each -> line(text, "  " + each));
        if (report.lost().isEmpty()) {
            line(text, "  no record is lost");
        }
        return text.toString();
    }

    static String of(CopyReport report) {
        StringBuilder text = new StringBuilder();
        line(
                text,
                report.path() + ": " + report.records() + " records, "
                        + offsets(report.firstOffset(), report.endOffset()));
        line(text, "  ring       up to " + report.capacity() + " segments of " + report.segmentSize() + " bytes");
        if (report.leftOut() > 0) {
            line(text, "  left out   " + report.leftOut() + " acked records, for which it has no room");
        }
        return text.toString();
    }

    private static String offsets(long first, long end) {
        if (end <= first) {
            return "next offset " + end;
        }
        return end == first + 1 ? "offset " + first : "offsets " + first + " to " + (end - 1);
    }

    private static void line(StringBuilder text, String line) {
        text.append(line).append('\n');
    }
}
