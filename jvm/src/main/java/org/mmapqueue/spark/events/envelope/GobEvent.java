package org.mmapqueue.spark.events.envelope;

import java.nio.ByteBuffer;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.GobReader;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;

/**
 * The event of Satellite's first commit, in Go's gob.
 *
 * <p>One encoder wrote all records of a queue, so only the first record carries the types. They were the same in every
 * run: type 64 is {@code Event{Name string, Timestamp time.Time, Meta map[string]string, Type int32, Remote bool, Data
 * map[string]interface{}}}. So each record can be read alone. Data becomes the column `fields`, with bytes in Base64.
 */
final class GobEvent {
    private static final int EVENT = 64;
    private static final int LAST_FIELD = 6;
    /** Seconds from year 1, where Go's time begins, to 1970. */
    private static final long EPOCH = 62_135_596_800L;

    private static final long MICROS = 1_000_000;
    private static final long MOST_SECONDS = Long.MAX_VALUE / MICROS / 2;

    private static final int BOOL = 1;
    private static final int INT = 2;
    private static final int UINT = 3;
    private static final int FLOAT = 4;
    private static final int BYTES = 5;
    private static final int STRING = 6;

    /** The types of the first commit, in the order of their numbers, which later commits changed. */
    private static final UTF8String[] TYPES = {
        null,
        UTF8String.fromString("Metrics"),
        UTF8String.fromString("Profile"),
        UTF8String.fromString("Tracing"),
        UTF8String.fromString("Management"),
        UTF8String.fromString("Metrics"),
        UTF8String.fromString("Logging")
    };

    private GobEvent() {}

    /** Whether the record is a sequence of gob messages of which the last has a value of type 64. */
    static boolean looksLikeOne(byte[] record) {
        try {
            return toValue(new GobReader(record)) != null;
        } catch (MalformedException e) {
            return false;
        }
    }

    // Skips the messages that define types, which have the type's negated number.
    private static GobReader toValue(GobReader in) throws MalformedException {
        while (!in.atEnd()) {
            int length = in.length();
            int end = in.position() + length;
            long type = in.signed();
            if (type == EVENT) {
                return end == in.bytes().length ? in : null;
            }
            if (type >= 0 || in.position() > end) {
                return null;
            }
            in.skip(end - in.position());
        }
        return null;
    }

    /** The columns of an event; when it cannot be decoded, those of a row with the record and an error. */
    static Object[] columns(byte[] record) {
        try {
            return event(toValue(new GobReader(record)));
        } catch (MalformedException e) {
            return EventDecoder.undecoded(record, "gob: " + e.getMessage());
        }
    }

    private static Object[] event(GobReader in) throws MalformedException {
        Object[] row = new Object[EventDecoder.COLUMNS];
        MetaMap meta = new MetaMap();
        row[EventDecoder.REMOTE] = false;
        long type = 0;
        int field = 0;
        for (long step = in.unsigned(); step != 0; step = in.unsigned()) {
            if (step < 0 || step > LAST_FIELD - field) {
                throw new MalformedException("field " + field + " + " + step, in.position());
            }
            field += (int) step;
            switch (field) {
                case 1 -> row[EventDecoder.NAME] = in.text();
                case 2 -> row[EventDecoder.TIME] = time(in.copy(), in.position());
                case 3 -> {
                    for (long left = in.unsigned(); left > 0; left--) {
                        meta.put(in.text(), in.text());
                    }
                }
                case 4 -> type = in.signed();
                case 5 -> row[EventDecoder.REMOTE] = in.unsigned() != 0;
                default -> row[EventDecoder.FIELDS] = data(in);
            }
        }
        if (!in.atEnd()) {
            throw new MalformedException("bytes after the event", in.position());
        }
        row[EventDecoder.META] = meta.toMap();
        row[EventDecoder.TYPE] =
                type > 0 && type < TYPES.length ? TYPES[(int) type] : UTF8String.fromString("Type" + type);
        return row;
    }

    // Go's binary form: version, seconds, nanoseconds, minutes of the zone's offset.
    private static Object time(byte[] binary, int position) throws MalformedException {
        if (binary.length < 15 || binary[0] < 1 || binary[0] > 2) {
            throw new MalformedException("time of " + binary.length + " bytes", position);
        }
        ByteBuffer fields = ByteBuffer.wrap(binary);
        long seconds = fields.getLong(1) - EPOCH;
        if (Math.abs(seconds) > MOST_SECONDS) {
            throw new MalformedException("time out of range", position);
        }
        return seconds * MICROS + fields.getInt(9) / 1000;
    }

    private static UTF8String data(GobReader in) throws MalformedException {
        JsonBuffer json = Scratch.get().attributes;
        json.open('{');
        for (long left = in.unsigned(); left > 0; left--) {
            byte[] key = in.copy();
            json.key(key, 0, key.length);
            value(in, json);
        }
        return json.close('}').take();
    }

    // The value of an interface: the name of the type, the type's number, the length of the rest, a zero, the value.
    private static void value(GobReader in, JsonBuffer json) throws MalformedException {
        UTF8String name = in.text();
        if (name.numBytes() == 0) {
            json.nothing();
            return;
        }
        int at = in.position();
        long type = in.signed();
        int length = in.length();
        int end = in.position() + length;
        if (in.unsigned() != 0) {
            throw new MalformedException("value of type " + name, at);
        }
        switch ((int) type) {
            case BOOL -> json.bool(in.unsigned() != 0);
            case INT -> json.number(in.signed());
            case UINT -> json.unsigned(in.unsigned());
            case FLOAT -> json.number(in.float64());
            case BYTES -> {
                byte[] bytes = in.copy();
                json.base64(bytes, 0, bytes.length);
            }
            case STRING -> {
                byte[] text = in.copy();
                json.string(text, 0, text.length);
            }
            default ->
                throw new MalformedException(
                        "a value of type " + name + " in data; known: bool, int, uint, float64, []byte, string", at);
        }
        if (in.position() != end) {
            throw new MalformedException("value of type " + name, at);
        }
    }
}
