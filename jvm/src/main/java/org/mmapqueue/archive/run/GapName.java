package org.mmapqueue.archive.run;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The fields of the name of a gap: a file without content that says which records no run will ever have. A run that has
 * some of them counts nevertheless.
 *
 * @param first the offset of the first record
 * @param end the offset after the last record
 * @param epoch the epoch of the shipper that has stored it; for one that was marked as lost, the highest epoch then
 * @param reason why they are missing
 */
public record GapName(long first, long end, long epoch, Reason reason) {
    /** Why records are missing. */
    public enum Reason {
        /** The queue has dropped them before they were shipped. */
        DROPPED("the queue has dropped them before they were shipped"),
        /** Their runs have vanished, and somebody has marked them as lost. */
        LOST("they were marked as lost");

        private final String text;

        Reason(String text) {
            this.text = text;
        }

        /** The reason, as the end of a sentence. */
        public String text() {
            return text;
        }
    }

    private static final String SUFFIX = ".gap";

    private static final Pattern NAME = Pattern.compile("([0-9]{19})-([0-9]{19})-([0-9]{1,19})-(dropped|lost)\\.gap");

    /** Parses the name of a file; empty if it is not the name of a gap. */
    public static Optional<GapName> parse(String file) {
        if (!file.endsWith(SUFFIX)) {
            return Optional.empty(); // quick for runs, of which a directory has many
        }
        Matcher parts = NAME.matcher(file);
        if (!parts.matches()) {
            return Optional.empty();
        }
        try {
            GapName name = new GapName(
                    Long.parseLong(parts.group(1)),
                    Long.parseLong(parts.group(2)),
                    Long.parseLong(parts.group(3)),
                    Reason.valueOf(parts.group(4).toUpperCase(Locale.ROOT)));
            return name.first < name.end && name.toString().equals(file) ? Optional.of(name) : Optional.empty();
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** The file's name in the archive. */
    public String file(int partition) {
        return RunName.directory(partition, RunName.bucketOf(first)) + "/" + this;
    }

    /** The last part of the file's name. */
    @Override
    public String toString() {
        return RunName.pad(first) + "-" + RunName.pad(end) + "-" + epoch + "-"
                + reason.name().toLowerCase(Locale.ROOT) + SUFFIX;
    }
}
