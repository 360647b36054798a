package org.mmapqueue.config;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.errors.ConfigException;

/** Parses sizes in bytes: 131072, 128k, 16m, 1g (powers of 1024; "kb" and "kib" mean "k"). */
final class Sizes {
    private static final Pattern SIZE = Pattern.compile("\\s*(\\d{1,19})\\s*(?:([kmg])(?:i?b)?|b)?\\s*");

    private Sizes() {}

    static long parse(String key, String text) {
        Matcher match = SIZE.matcher(text.toLowerCase(Locale.ROOT));
        if (!match.matches()) {
            throw new ConfigException(key, text, "a number of bytes, or one with k, m or g, such as 128k");
        }
        String unit = match.group(2);
        int shift = unit == null ? 0 : "kmg".indexOf(unit) * 10 + 10;
        try {
            return Math.multiplyExact(Long.parseLong(match.group(1)), 1L << shift);
        } catch (ArithmeticException | NumberFormatException e) {
            throw new ConfigException(key, text, "less than 8 EiB");
        }
    }
}
