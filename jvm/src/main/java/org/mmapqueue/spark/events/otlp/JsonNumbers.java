package org.mmapqueue.spark.events.otlp;

import java.math.BigDecimal;
import java.util.regex.Pattern;

/**
 * Numbers in the forms that protobuf's JSON allows: integers as {@code 25}, {@code 25.0} or {@code 2.5e1}, each as a
 * number or a string; doubles also as NaN, Infinity and -Infinity. Methods throw IllegalArgumentException or
 * ArithmeticException for anything else.
 */
final class JsonNumbers {
    /** Texts of this form are parsed by the JDK alone. */
    private static final int SHORT = 18;
    /** No 64 bits need more digits, and a BigDecimal of many more takes long. */
    private static final int MOST_CHARACTERS = 1000;
    /** The decimal digits of 64 bits. */
    private static final int MOST_DIGITS = 20;

    private static final Pattern NUMBER = Pattern.compile("-?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?");

    private JsonNumbers() {}

    static long signed(String text) {
        return isShort(text) ? Long.parseLong(text) : exact(text).longValueExact();
    }

    /** 64 bits without a sign. */
    static long unsigned(String text) {
        if (isShort(text) && text.charAt(0) != '-') {
            return Long.parseLong(text);
        }
        BigDecimal value = exact(text);
        if (value.signum() < 0) {
            throw new IllegalArgumentException();
        }
        return Long.parseUnsignedLong(value.toBigIntegerExact().toString());
    }

    static double float64(String text) {
        switch (text) {
            case "NaN":
                return Double.NaN;
            case "Infinity":
                return Double.POSITIVE_INFINITY;
            case "-Infinity":
                return Double.NEGATIVE_INFINITY;
            default:
        }
        checked(text);
        double value = Double.parseDouble(text);
        if (Double.isInfinite(value)) {
            throw new ArithmeticException();
        }
        return value;
    }

    private static boolean isShort(String text) {
        int start = text.startsWith("-") ? 1 : 0;
        if (text.length() == start || text.length() > SHORT) {
            return false;
        }
        for (int i = start; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return true;
    }

    private static BigDecimal exact(String text) {
        checked(text);
        BigDecimal value = new BigDecimal(text);
        if (value.signum() == 0) {
            return BigDecimal.ZERO;
        }
        // Before its digits are written out, which an exponent may ask billions for.
        long digits = (long) value.precision() - value.scale();
        if (digits < 1 || digits > MOST_DIGITS) {
            throw new ArithmeticException();
        }
        return value;
    }

    private static void checked(String text) {
        if (text.length() > MOST_CHARACTERS || !NUMBER.matcher(text).matches()) {
            throw new IllegalArgumentException();
        }
    }
}
