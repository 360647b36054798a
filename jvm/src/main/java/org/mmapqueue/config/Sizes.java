package org.mmapqueue.config;

import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.errors.ConfigException;

/** Parses sizes in bytes: 131072, 128k, 16m, 1g, 1t (powers of 1024; "kb" and "kib" mean "k"). */
public final class Sizes {
    /** Python's size_in_bytes accepts the same strings: sizes.csv of the tests is the test of both. */
    private static final Pattern SIZE =
            Pattern.compile("\\s*([0-9]{1,19})\\s*(?:([kmgt])(?:i?b)?|b)?\\s*", Pattern.CASE_INSENSITIVE);

    private Sizes() {}

    /**
     * Parses a size.
     *
     * @return the bytes; empty if the text is not a size, or does not fit into a long
     */
    public static OptionalLong parse(String text) {
        Matcher match = SIZE.matcher(text);
        if (!match.matches()) {
            return OptionalLong.empty();
        }
        String unit = match.group(2);
        int shift = unit == null ? 0 : "kmgt".indexOf(unit.toLowerCase(Locale.ROOT)) * 10 + 10;
        try {
            return OptionalLong.of(Math.multiplyExact(Long.parseLong(match.group(1)), 1L << shift));
        } catch (ArithmeticException | NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    static long parse(String key, String text) {
        return parse(text)
                .orElseThrow(() -> new ConfigException(
                        key, text, "a number of bytes below 8 EiB, or one with k, m, g or t, such as 128k"));
    }
}
