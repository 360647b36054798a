package org.mmapqueue.spark.events.payload;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.LogRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.Scratch;

/**
 * A syslog message of RFC 5424 or RFC 3164 as a log record. Any other message becomes the body of a log record, as RFC
 * 3164 requires, so nothing that a device sends is lost.
 */
final class Syslog {
    /** Names of severities, and OpenTelemetry's numbers for them. */
    private static final UTF8String[] SEVERITIES = {
        UTF8String.fromString("emerg"),
        UTF8String.fromString("alert"),
        UTF8String.fromString("crit"),
        UTF8String.fromString("err"),
        UTF8String.fromString("warning"),
        UTF8String.fromString("notice"),
        UTF8String.fromString("info"),
        UTF8String.fromString("debug")
    };

    private static final int[] NUMBERS = {21, 19, 18, 17, 13, 10, 9, 5};
    private static final int MOST_PRIORITY = 191;

    private static final Pattern PRIORITY = Pattern.compile("<(\\d{1,3})>");
    private static final Pattern HEADER = Pattern.compile("1 (\\S+) (\\S+) (\\S+) (\\S+) (\\S+) ?");
    private static final Pattern ELEMENT = Pattern.compile("\\[([^ =\\]\"]+)");
    private static final Pattern PARAMETER =
            Pattern.compile(" ([^ =\\]\"]+)=\"((?:[^\"\\\\]|\\\\.)*+)\"", Pattern.DOTALL);
    private static final Pattern ESCAPED = Pattern.compile("\\\\([\"\\\\\\]])");
    /** A header of RFC 3164: month, day, time; host; tag and process. */
    private static final Pattern OLD = Pattern.compile(
            "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ([ \\d]\\d) (\\d\\d):(\\d\\d):(\\d\\d) (\\S+) ");
    /** As OLD, with the time of RFC 3339 that many daemons write. */
    private static final Pattern OLD_ISO = Pattern.compile("(\\d{4}-\\d\\d-\\d\\dT\\S+) (\\S+) ");

    private static final Pattern TAG = Pattern.compile("([^\\s:\\[]{1,128})(?:\\[([^\\]\\s]{1,128})\\])?: ?");
    private static final String MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
    private static final String NIL = "-";

    private final String text;
    private final Object[] row = new Object[LogRow.COLUMNS];
    private final JsonBuffer attributes;
    private int at;

    private Syslog(byte[] data, JsonBuffer attributes) {
        int length = data.length;
        while (length > 0 && (data[length - 1] == '\n' || data[length - 1] == 0 || data[length - 1] == '\r')) {
            length--;
        }
        text = new String(data, 0, length, UTF_8);
        this.attributes = attributes;
    }

    /**
     * Parses a message.
     *
     * @param received time of reception, in µs: RFC 3164 has no year, so the nearest one is taken
     */
    static void message(byte[] data, long received, List<Object[]> rows) {
        Scratch scratch = Scratch.get();
        Syslog message = new Syslog(data, scratch.attributes);
        message.parse(received);
        message.row[LogRow.ATTRIBUTES] = JsonEntries.taken(scratch.attributes, '}');
        rows.add(message.row);
    }

    private void parse(long received) {
        Matcher priority = PRIORITY.matcher(text);
        if (priority.lookingAt() && Integer.parseInt(priority.group(1)) <= MOST_PRIORITY) {
            int number = Integer.parseInt(priority.group(1));
            row[LogRow.SEVERITY] = SEVERITIES[number & 7];
            row[LogRow.SEVERITY_NUMBER] = NUMBERS[number & 7];
            attributes.openOnce('{');
            attributes.key("facility").number(number >>> 3);
            at = priority.end();
            Matcher header = from(HEADER);
            if (header.lookingAt()) {
                modern(header);
            } else {
                old(received);
            }
        }
        row[LogRow.BODY] = UTF8String.fromString(text.substring(at));
    }

    private Matcher from(Pattern pattern) {
        return pattern.matcher(text).region(at, text.length());
    }

    private void modern(Matcher header) {
        at = header.end();
        row[LogRow.TIME] = instant(header.group(1));
        host(header.group(2));
        app(header.group(3));
        attribute("process.id", header.group(4));
        attribute("message.id", header.group(5));
        if (text.startsWith(NIL, at)) {
            at++;
        } else {
            structuredData();
        }
        if (text.startsWith(" ", at)) {
            at++;
        }
        if (text.startsWith("\uFEFF", at)) {
            at++;
        }
    }

    // [id name="value" …][id …]: an object for each id.
    private void structuredData() {
        for (Matcher element = from(ELEMENT); element.lookingAt(); element = from(ELEMENT)) {
            int start = at;
            at = element.end();
            int parameters = at;
            for (Matcher each = from(PARAMETER); each.lookingAt(); each = from(PARAMETER)) {
                at = each.end();
            }
            if (!text.startsWith("]", at)) {
                // Not a structured element: the rest is the message.
                at = start;
                return;
            }
            int end = at + 1;
            at = parameters;
            attributes.openOnce('{');
            key(element.group(1));
            attributes.open('{');
            for (Matcher each = from(PARAMETER); each.lookingAt(); each = from(PARAMETER)) {
                key(each.group(1));
                attributes.string(ESCAPED.matcher(each.group(2)).replaceAll("$1"));
                at = each.end();
            }
            attributes.close('}');
            at = end;
        }
    }

    private void key(String key) {
        byte[] encoded = key.getBytes(UTF_8);
        attributes.key(encoded, 0, encoded.length);
    }

    private void old(long received) {
        Matcher header = from(OLD);
        Matcher iso = from(OLD_ISO);
        if (header.lookingAt()) {
            row[LogRow.TIME] = nearest(header, received);
            host(header.group(6));
            at = header.end();
        } else if (iso.lookingAt() && instant(iso.group(1)) != null) {
            row[LogRow.TIME] = instant(iso.group(1));
            host(iso.group(2));
            at = iso.end();
        } else {
            return;
        }
        Matcher tag = from(TAG);
        if (tag.lookingAt()) {
            app(tag.group(1));
            attribute("process.id", tag.group(2));
            at = tag.end();
        }
    }

    private void host(String name) {
        if (!name.equals(NIL)) {
            byte[] encoded = name.getBytes(UTF_8);
            row[LogRow.RESOURCE] = new JsonBuffer()
                    .open('{')
                    .key("host.name")
                    .string(encoded, 0, encoded.length)
                    .close('}')
                    .take();
            row[LogRow.INSTANCE] = UTF8String.fromBytes(encoded);
        }
    }

    private void app(String name) {
        if (!name.equals(NIL)) {
            row[LogRow.SERVICE] = UTF8String.fromString(name);
        }
    }

    private void attribute(String key, String value) {
        if (value != null && !value.equals(NIL)) {
            attributes.openOnce('{');
            attributes.key(key).string(value);
        }
    }

    private static Object instant(String text) {
        try {
            return micros(OffsetDateTime.parse(text).toInstant());
        } catch (DateTimeException | ArithmeticException e) {
            return null;
        }
    }

    // Not by ChronoUnit.MICROS, which in JDK 17 counts ns first, and so has the years from 1678 to 2261 alone.
    private static long micros(Instant instant) {
        return Math.addExact(Math.multiplyExact(instant.getEpochSecond(), 1_000_000), instant.getNano() / 1000);
    }

    // The time of a header without zone and year: UTC is assumed, and the year that is nearest to the reception.
    private static Object nearest(Matcher header, long received) {
        int month = MONTHS.indexOf(header.group(1)) / 3 + 1;
        int day = Integer.parseInt(header.group(2).strip());
        int year = Instant.EPOCH
                .plus(received, ChronoUnit.MICROS)
                .atOffset(ZoneOffset.UTC)
                .getYear();
        Long best = null;
        for (int each = year - 1; received != 0 && each <= year + 1; each++) {
            try {
                long micros = micros(LocalDateTime.of(
                                each,
                                month,
                                day,
                                Integer.parseInt(header.group(3)),
                                Integer.parseInt(header.group(4)),
                                Integer.parseInt(header.group(5)))
                        .toInstant(ZoneOffset.UTC));
                best = best == null || Math.abs(micros - received) < Math.abs(best - received) ? (Long) micros : best;
            } catch (DateTimeException e) {
                // This year does not have that day: February 29, or an invalid date.
            }
        }
        return best;
    }
}
