package org.mmapqueue.spark.events.payload;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.mmapqueue.spark.events.wire.MalformedException;

/** One sample of Prometheus' text format, or of OpenMetrics: name, labels, value and time. */
final class SampleLine {
    private static final Pattern NUMBER = Pattern.compile("[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?");

    final String name;
    /** Names and values by turns. */
    final List<String> labels = new ArrayList<>();

    final double value;
    /** In the unit of the format; null for none. */
    final Double time;

    private final String text;
    private final int number;
    private int at;

    SampleLine(String text, int number, boolean openMetrics) throws MalformedException {
        this.text = text;
        this.number = number;
        name = name(true);
        boolean spaced = spaces();
        if (next('{')) {
            labels(labels);
            spaces();
        } else {
            check(spaced);
        }
        value = number();
        spaced = spaces();
        time = spaced && at < text.length() && text.charAt(at) != '#' ? (Double) number() : null;
        if (openMetrics && at < text.length()) {
            exemplar(time == null ? spaced : spaces());
        }
        check(at == text.length());
    }

    /** The number that a label has; null for no such label, and for one without a number. */
    Double number(String label) {
        for (int i = 0; i < labels.size(); i += 2) {
            if (labels.get(i).equals(label)) {
                return parsed(labels.get(i + 1));
            }
        }
        return null;
    }

    private void exemplar(boolean spaced) throws MalformedException {
        check(spaced && next('#') && spaces() && next('{'));
        labels(new ArrayList<>());
        check(spaces());
        number();
        if (spaces()) {
            number();
        }
    }

    private void labels(List<String> into) throws MalformedException {
        spaces();
        while (!next('}')) {
            into.add(name(false));
            spaces();
            check(next('='));
            spaces();
            into.add(value());
            spaces();
            if (!next(',')) {
                check(next('}'));
                return;
            }
            spaces();
        }
    }

    private String name(boolean colons) throws MalformedException {
        int start = at;
        while (at < text.length() && isOfName(text.charAt(at), colons, at > start)) {
            at++;
        }
        check(at > start);
        return text.substring(start, at);
    }

    private static boolean isOfName(char each, boolean colons, boolean digits) {
        return each >= 'a' && each <= 'z'
                || each >= 'A' && each <= 'Z'
                || each == '_'
                || colons && each == ':'
                || digits && each >= '0' && each <= '9';
    }

    private String value() throws MalformedException {
        check(next('"'));
        int start = at;
        while (at < text.length() && text.charAt(at) != '"') {
            at += text.charAt(at) == '\\' ? 2 : 1;
        }
        check(at < text.length());
        return unescaped(text.substring(start, at++));
    }

    /** The text without its escapes of backslash, quote and newline. */
    static String unescaped(String text) {
        if (text.indexOf('\\') < 0) {
            return text;
        }
        StringBuilder plain = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            char after = i + 1 < text.length() ? text.charAt(i + 1) : 0;
            if (each == '\\' && (after == '\\' || after == '"' || after == 'n')) {
                plain.append(after == 'n' ? '\n' : after);
                i++;
            } else {
                plain.append(each);
            }
        }
        return plain.toString();
    }

    private double number() throws MalformedException {
        int start = at;
        while (at < text.length() && text.charAt(at) != ' ' && text.charAt(at) != '\t') {
            at++;
        }
        Double parsed = parsed(text.substring(start, at));
        check(parsed != null);
        return parsed;
    }

    private static Double parsed(String token) {
        boolean signed = token.startsWith("-") || token.startsWith("+");
        String plain = signed ? token.substring(1) : token;
        if (plain.equalsIgnoreCase("nan")) {
            return Double.NaN;
        }
        if (plain.equalsIgnoreCase("inf") || plain.equalsIgnoreCase("infinity")) {
            return token.startsWith("-") ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
        }
        return NUMBER.matcher(token).matches() ? (Double) Double.parseDouble(token) : null;
    }

    private boolean spaces() {
        int start = at;
        while (at < text.length() && (text.charAt(at) == ' ' || text.charAt(at) == '\t')) {
            at++;
        }
        return at > start;
    }

    private boolean next(char wanted) {
        boolean found = at < text.length() && text.charAt(at) == wanted;
        at += found ? 1 : 0;
        return found;
    }

    private void check(boolean condition) throws MalformedException {
        if (!condition) {
            throw new MalformedException("line " + number + " is not a sample", at);
        }
    }
}
