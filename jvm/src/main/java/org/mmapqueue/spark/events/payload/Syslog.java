package org.mmapqueue.spark.events.payload;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
    /** Before the time: a colon, a sequence number, the device, as Cisco's IOS and NX-OS write them. */
    private static final Pattern BEFORE = Pattern.compile("(?:(\\d{1,10})?: )?(?:(\\S{1,255}): )?");
    /** A time of RFC 3164, and as devices write it: not synchronised, with a year before or after the day, with a fraction. */
    private static final Pattern OLD =
            Pattern.compile("[*.]?(?:(\\d{4}) )?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
                    + " {1,2}(\\d{1,2}) (?:(\\d{4}) )?(\\d\\d):(\\d\\d):(\\d\\d)(?:[.,](\\d{1,9}))?");
    /** A time of RFC 3339, which many daemons write; its zone may be missing. */
    private static final Pattern OLD_ISO = Pattern.compile("\\d{4}-\\d\\d-\\d\\dT\\S+?(?=:? |:?$)");

    private static final Pattern ZONE = Pattern.compile(" ?([A-Z]{1,5}|[+-]\\d\\d:?\\d\\d)(?=:| |$)");
    private static final Pattern HOST = Pattern.compile("(\\S+) ");
    private static final Pattern TAG = Pattern.compile("([^\\s:\\[]{1,128})(?:\\[([^\\]\\s]{1,128})\\])?: ?");
    /** A tag in place of the host: a host has no colon at its end. */
    private static final Pattern TAG_ALONE = Pattern.compile("[^\\s:\\[]{1,128}(?:\\[[^\\]\\s]{1,128}\\])?:(?: |$)");

    private static final String MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
    private static final String NIL = "-";
    /** Attributes of this class. No structured data of a message overwrites them. */
    private static final Set<String> OWN = Set.of("facility", "process.id", "message.id", "sequence");
    /** Offsets in hours of the zones that devices abbreviate, where the abbreviation has one meaning in use. */
    private static final Map<String, String> ZONES = Map.ofEntries(
            Map.entry("Z", "Z"),
            Map.entry("UTC", "Z"),
            Map.entry("GMT", "Z"),
            Map.entry("WET", "Z"),
            Map.entry("WEST", "+01:00"),
            Map.entry("CET", "+01:00"),
            Map.entry("CEST", "+02:00"),
            Map.entry("EET", "+02:00"),
            Map.entry("EEST", "+03:00"),
            Map.entry("MSK", "+03:00"),
            Map.entry("JST", "+09:00"),
            Map.entry("KST", "+09:00"),
            Map.entry("AEST", "+10:00"),
            Map.entry("AEDT", "+11:00"),
            Map.entry("NZST", "+12:00"),
            Map.entry("NZDT", "+13:00"),
            Map.entry("EST", "-05:00"),
            Map.entry("EDT", "-04:00"),
            Map.entry("CST", "-06:00"),
            Map.entry("CDT", "-05:00"),
            Map.entry("MST", "-07:00"),
            Map.entry("MDT", "-06:00"),
            Map.entry("PST", "-08:00"),
            Map.entry("PDT", "-07:00"));

    private final String text;
    private final Object[] row = new Object[LogRow.COLUMNS];
    private final JsonBuffer attributes;
    private final ZoneId zone;
    private int at;

    private Syslog(byte[] data, ZoneId zone, JsonBuffer attributes) {
        int length = data.length;
        while (length > 0 && (data[length - 1] == '\n' || data[length - 1] == 0 || data[length - 1] == '\r')) {
            length--;
        }
        text = new String(data, 0, length, UTF_8);
        this.zone = zone;
        this.attributes = attributes;
    }

    /**
     * Parses a message.
     *
     * @param zone the zone of times that name none
     * @param received time of reception, in µs: RFC 3164 has no year, so the nearest one is taken
     */
    static void message(byte[] data, ZoneId zone, long received, List<Object[]> rows) {
        Scratch scratch = Scratch.get();
        Syslog message = new Syslog(data, zone, scratch.attributes);
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
            key(OWN.contains(element.group(1)) ? "sd." + element.group(1) : element.group(1));
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
        int start = at;
        String device = null;
        Matcher before = from(BEFORE);
        at = before.lookingAt() ? before.end() : at;
        int timeAt = at;
        Object time = oldTime(received);
        if (at > timeAt) {
            attribute("sequence", before.group(1));
            device = before.group(2);
        } else {
            // What looked like a number or a device before the time is text.
            at = start;
            time = timeAt == start ? null : oldTime(received);
            if (at == start) {
                return;
            }
        }
        row[LogRow.TIME] = time;
        if (device != null) {
            host(device);
        }
        // A colon after the time replaces the host, as a tag does: Docker's default has no host.
        boolean colon = text.startsWith(":", at);
        at += colon ? 1 : 0;
        while (text.startsWith(" ", at)) {
            at++;
        }
        Matcher host = from(HOST);
        if (!colon && device == null && !from(TAG_ALONE).lookingAt() && host.lookingAt()) {
            host(host.group(1));
            at = host.end();
            // Cisco's ASA.
            at += text.startsWith(": ", at) ? 2 : 0;
        }
        tag();
    }

    private void tag() {
        Matcher tag = from(TAG);
        if (!tag.lookingAt()) {
            return;
        }
        if (tag.group(1).startsWith("%")) {
            // The mnemonic of a message, as %SYS-5-CONFIG_I.
            attribute("message.id", tag.group(1));
        } else {
            app(tag.group(1));
        }
        attribute("process.id", tag.group(2));
        at = tag.end();
    }

    // Reads the time and its zone; where they do not begin here, nothing is read.
    private Object oldTime(long received) {
        Matcher old = from(OLD);
        Matcher iso = from(OLD_ISO);
        if (old.lookingAt()) {
            int start = at;
            at = old.end();
            ZoneId own = zoneAfterTime();
            if (!text.startsWith(" ", at) && !text.startsWith(":", at)) {
                at = start;
                return null;
            }
            return nearest(old, own == null ? zone : own, received);
        }
        if (iso.lookingAt()) {
            Object time = instant(iso.group());
            at = time == null ? at : iso.end();
            return time;
        }
        return null;
    }

    private ZoneId zoneAfterTime() {
        Matcher found = from(ZONE);
        if (!found.lookingAt()) {
            return null;
        }
        String name = found.group(1);
        String offset = Character.isLetter(name.charAt(0)) ? ZONES.get(name) : name;
        try {
            ZoneId own = offset == null ? null : ZoneId.of(offset);
            at = own == null ? at : found.end();
            return own;
        } catch (DateTimeException e) {
            return null;
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

    private Object instant(String text) {
        try {
            return micros(OffsetDateTime.parse(text).toInstant());
        } catch (DateTimeException | ArithmeticException e) {
            return local(text);
        }
    }

    private Object local(String text) {
        try {
            return micros(LocalDateTime.parse(text).atZone(zone).toInstant());
        } catch (DateTimeException | ArithmeticException e) {
            return null;
        }
    }

    // Not by ChronoUnit.MICROS, which in JDK 17 counts ns first, and so has the years from 1678 to 2261 alone.
    private static long micros(Instant instant) {
        return Math.addExact(Math.multiplyExact(instant.getEpochSecond(), 1_000_000), instant.getNano() / 1000);
    }

    // The time of a header; without a year, the year that is nearest to the reception.
    private static Object nearest(Matcher header, ZoneId zone, long received) {
        String year = header.group(1) == null ? header.group(4) : header.group(1);
        if (year != null) {
            return time(Integer.parseInt(year), header, zone);
        }
        int now = Instant.EPOCH
                .plus(received, ChronoUnit.MICROS)
                .atOffset(ZoneOffset.UTC)
                .getYear();
        Long best = null;
        for (int each = now - 1; received != 0 && each <= now + 1; each++) {
            Long time = time(each, header, zone);
            boolean nearer = time != null && (best == null || Math.abs(time - received) < Math.abs(best - received));
            best = nearer ? time : best;
        }
        return best;
    }

    // Null for a day that this year does not have, and for an invalid time.
    private static Long time(int year, Matcher header, ZoneId zone) {
        String fraction = header.group(8);
        try {
            return micros(LocalDateTime.of(
                            year,
                            MONTHS.indexOf(header.group(2)) / 3 + 1,
                            Integer.parseInt(header.group(3)),
                            Integer.parseInt(header.group(5)),
                            Integer.parseInt(header.group(6)),
                            Integer.parseInt(header.group(7)),
                            fraction == null ? 0 : Integer.parseInt((fraction + "00000000").substring(0, 9)))
                    .atZone(zone)
                    .toInstant());
        } catch (DateTimeException e) {
            return null;
        }
    }
}
