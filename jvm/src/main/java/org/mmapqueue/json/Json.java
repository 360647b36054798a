package org.mmapqueue.json;

import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Writes values as JSON, on one line.
 *
 * <p>A record is an object of its components, a map an object, a collection an array. Times and durations are numbers of
 * µs, an empty optional is null, and the constant of an enum is its name in lower case. Anything else is the string that
 * its {@code toString} returns.
 */
public final class Json {
    private final StringBuilder out = new StringBuilder();

    private Json() {}

    /**
     * Writes a value.
     *
     * @param value any value of the kinds above; null is null
     * @return the JSON
     */
    public static String of(Object value) {
        Json json = new Json();
        json.write(value);
        return json.out.toString();
    }

    private void write(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else if (value instanceof Optional<?> optional) {
            write(optional.orElse(null));
        } else if (value instanceof Instant time) {
            out.append(ChronoUnit.MICROS.between(Instant.EPOCH, time));
        } else if (value instanceof Duration duration) {
            out.append(TimeUnit.MICROSECONDS.convert(duration));
        } else if (value instanceof Enum<?> constant) {
            quote(constant.name().toLowerCase(Locale.ROOT));
        } else if (value instanceof Collection<?> elements) {
            array(elements);
        } else if (value instanceof Map<?, ?> map) {
            object(map);
        } else if (value instanceof Record fields) {
            object(fields);
        } else {
            quote(value.toString());
        }
    }

    private void array(Collection<?> elements) {
        String separator = "[";
        for (Object each : elements) {
            out.append(separator);
            write(each);
            separator = ",";
        }
        out.append(elements.isEmpty() ? "[]" : "]");
    }

    private void object(Map<?, ?> map) {
        String separator = "{";
        for (Map.Entry<?, ?> each : map.entrySet()) {
            member(separator, each.getKey().toString(), each.getValue());
            separator = ",";
        }
        out.append(map.isEmpty() ? "{}" : "}");
    }

    private void object(Record fields) {
        String separator = "{";
        for (RecordComponent each : fields.getClass().getRecordComponents()) {
            try {
                member(separator, each.getName(), each.getAccessor().invoke(fields));
            } catch (ReflectiveOperationException e) {
                throw new IllegalArgumentException(fields.getClass() + " is not public", e);
            }
            separator = ",";
        }
        out.append('}');
    }

    private void member(String separator, String name, Object value) {
        out.append(separator);
        quote(name);
        out.append(':');
        write(value);
    }

    private void quote(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ' || each >= 0x7f) {
                // Also one half of a surrogate pair, which has no UTF-8.
                out.append(String.format(Locale.ROOT, "\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        out.append('"');
    }
}
