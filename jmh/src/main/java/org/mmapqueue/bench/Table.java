package org.mmapqueue.bench;

import java.util.Locale;
import java.util.Map;

/** The results as plain text, 106 columns wide. */
final class Table {
    private static final String ROW = "%-38s %7s %8s %10s %19s %9s %9s%n";

    private Table() {}

    /** One row for each cell that has scores; a cell whose roofline has none says so with a dash. */
    static String of(Map<Cell, Scores> results) {
        StringBuilder text = new StringBuilder();
        String section = null;
        int payload = 0;
        for (Map.Entry<Cell, Scores> result : results.entrySet()) {
            Cell cell = result.getKey();
            Scores scores = result.getValue();
            if (scores.isEmpty()) {
                continue;
            }
            if (!cell.section().equals(section)) {
                section = cell.section();
                text.append(String.format(Locale.ROOT, "%n%s%n", section));
                text.append(
                        cell.perCall()
                                ? String.format(
                                        Locale.ROOT,
                                        ROW,
                                        "",
                                        "payload",
                                        "us/call",
                                        "calls/s",
                                        "us/call, min..max",
                                        "",
                                        "B/call")
                                : String.format(
                                        Locale.ROOT,
                                        ROW,
                                        "",
                                        "payload",
                                        "MB/s",
                                        "records/s",
                                        "MB/s, min..max",
                                        "roofline",
                                        "B/record"));
            } else if (cell.shape().payload() != payload) {
                text.append(System.lineSeparator());
            }
            payload = cell.shape().payload();
            text.append(cell.perCall() ? callRow(cell, scores) : row(cell, scores, results.get(cell.roofline())));
        }
        return text.toString();
    }

    private static String callRow(Cell cell, Scores scores) {
        return String.format(
                Locale.ROOT,
                ROW,
                "  " + cell.label(),
                Units.bytes(cell.shape().payload()),
                micros(scores.recordsPerSecond()),
                Units.rate(scores.recordsPerSecond()),
                micros(scores.most()) + ".." + micros(scores.least()),
                "",
                String.format(Locale.ROOT, "%.0f", scores.bytesPerRecord()));
    }

    private static String micros(double perSecond) {
        double micros = 1e6 / perSecond;
        return micros < 100 ? String.format(Locale.ROOT, "%.2f", micros) : Units.grouped(micros);
    }

    private static String row(Cell cell, Scores scores, Scores roofline) {
        double megabytes = cell.shape().payload() / 1e6;
        String spread = Units.grouped(scores.least() * megabytes) + ".." + Units.grouped(scores.most() * megabytes);
        String share = cell.roofline() == null
                ? ""
                : roofline == null || roofline.isEmpty()
                        ? "-"
                        : String.format(
                                Locale.ROOT, "%.0f %%", 100 * scores.recordsPerSecond() / roofline.recordsPerSecond());
        return String.format(
                Locale.ROOT,
                ROW,
                "  " + cell.label(),
                Units.bytes(cell.shape().payload()),
                Units.grouped(scores.recordsPerSecond() * megabytes),
                Units.rate(scores.recordsPerSecond()),
                spread,
                share,
                String.format(Locale.ROOT, "%.1f", scores.bytesPerRecord()));
    }
}
