package org.mmapqueue.bench;

import java.util.Locale;

/** Figures as people read them. */
final class Units {

    private Units() {}

    static String bytes(long bytes) {
        if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) {
            return (bytes >> 20) + " MiB";
        }
        if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) {
            return (bytes >> 10) + " KiB";
        }
        return bytes + " B";
    }

    /** Three digits and a thousands separator. */
    static String grouped(double value) {
        return String.format(Locale.ROOT, "%,.0f", value).replace(',', ' ');
    }

    /** As 12.3 M or 123 k; small ones as they are. */
    static String rate(double perSecond) {
        if (perSecond >= 1e6) {
            return String.format(
                    Locale.ROOT, perSecond >= 1e8 ? "%.0f M" : perSecond >= 1e7 ? "%.1f M" : "%.2f M", perSecond / 1e6);
        }
        if (perSecond < 1e3) {
            return String.format(Locale.ROOT, perSecond >= 1e2 ? "%.0f" : "%.1f", perSecond);
        }
        return String.format(Locale.ROOT, perSecond >= 1e5 ? "%.0f k" : "%.1f k", perSecond / 1e3);
    }
}
