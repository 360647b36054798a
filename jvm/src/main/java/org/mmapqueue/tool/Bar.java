package org.mmapqueue.tool;

import java.io.PrintStream;
import org.mmapqueue.tool.report.Progress;

/** A progress bar on a terminal, redrawn when the percentage changes. Not thread-safe. */
final class Bar implements Progress {
    private static final int WIDTH = 40;
    private static final int HUNDRED = 100;

    private final PrintStream terminal;
    private long shown = -1;

    Bar(PrintStream terminal) {
        this.terminal = terminal;
    }

    @Override
    public void at(long done, long total) {
        long percent = total <= 0 ? HUNDRED : Math.min(HUNDRED, (long) (done * (double) HUNDRED / total));
        if (percent != shown) {
            shown = percent;
            int filled = (int) (percent * WIDTH / HUNDRED);
            terminal.print("\r[" + "#".repeat(filled) + " ".repeat(WIDTH - filled) + "] " + percent + " %"
                    + (percent == HUNDRED ? "\n" : ""));
            terminal.flush();
        }
    }
}
