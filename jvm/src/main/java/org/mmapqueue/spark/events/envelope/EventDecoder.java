package org.mmapqueue.spark.events.envelope;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.skywalking.SkyWalkingLogs;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.WireReader;

/**
 * Decodes the envelope of an event. Records of all revisions of SkyWalking Satellite are supported.
 *
 * <p>A payload in a field of Satellite's SniffData gets a content type that names the field. Thread-safe.
 */
public final class EventDecoder {
    /** The columns of an event. Absent texts, bytes and times are null; `meta` is never null in a decoded event. */
    public static final String SCHEMA = "time timestamp, name string, type string, remote boolean, meta map, "
            + "content_type string, data binary, fields string, id string, source string, "
            + "error string";

    public static final int TIME = 0;
    public static final int NAME = 1;
    public static final int TYPE = 2;
    public static final int REMOTE = 3;
    public static final int META = 4;
    public static final int CONTENT_TYPE = 5;
    public static final int DATA = 6;
    public static final int FIELDS = 7;
    public static final int ID = 8;
    public static final int SOURCE = 9;
    static final int ERROR = 10;
    static final int COLUMNS = 11;

    private static final int FIRST_OF_ONEOF = 6;
    private static final int LAST_OF_ONEOF = 37;
    private static final long MOST_MILLIS = Long.MAX_VALUE / 1000;

    private EventDecoder() {}

    /**
     * Decodes a record.
     *
     * @param record the record's bytes, which the row refers to
     * @return the event, or a row of which only `data`, the record, and `error` are set
     */
    public static InternalRow decode(byte[] record) {
        try {
            return new GenericInternalRow(columns(record));
        } catch (MalformedException e) {
            Object[] gob = GobEvent.looksLikeOne(record) ? GobEvent.columns(record) : null;
            return new GenericInternalRow(gob != null ? gob : undecoded(record, e.getMessage()));
        }
    }

    static Object[] undecoded(byte[] record, String error) {
        Object[] row = new Object[COLUMNS];
        row[DATA] = record;
        row[ERROR] = UTF8String.fromString(error);
        return row;
    }

    private static Object[] columns(byte[] record) throws MalformedException {
        WireReader in = new WireReader(record);
        Object[] row = new Object[COLUMNS];
        long type = 0;
        boolean remote = false;
        boolean known = false;
        MetaMap meta = null;
        int oneof = 0;
        int oneofAt = 0;
        int oneofLength = 0;
        byte[] data = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case EventFields.TIMESTAMP -> row[TIME] = time(in.varint(EventFields.TIMESTAMP));
                case EventFields.NAME -> row[NAME] = in.text(EventFields.NAME);
                case EventFields.TYPE -> type = in.varint(EventFields.TYPE);
                case EventFields.REMOTE -> remote = in.varint(EventFields.REMOTE) != 0;
                case EventFields.META -> {
                    meta = meta == null ? new MetaMap() : meta;
                    meta.read(in, EventFields.META);
                }
                case EventFields.CONTENT_TYPE -> row[CONTENT_TYPE] = in.text(EventFields.CONTENT_TYPE);
                case EventFields.DATA -> data = in.copy(EventFields.DATA);
                case EventFields.FIELDS -> row[FIELDS] = struct(in);
                case EventFields.ID -> row[ID] = in.text(EventFields.ID);
                case EventFields.SOURCE -> row[SOURCE] = in.text(EventFields.SOURCE);
                default -> {
                    if (field < FIRST_OF_ONEOF || field > LAST_OF_ONEOF) {
                        in.skip();
                        continue;
                    }
                    oneof = field;
                    oneofLength = in.length(field);
                    oneofAt = in.position();
                    in.rewind(oneofAt + oneofLength);
                }
            }
            known = true;
        }
        if (!known) {
            throw new MalformedException(record.length == 0 ? "empty record" : "no field of an event", 0);
        }
        row[TYPE] = EventTypes.name(type);
        row[REMOTE] = remote;
        row[META] = meta == null ? MetaMap.NONE : meta.toMap();
        if (data != null || oneof == 0) {
            row[DATA] = data;
            return row;
        }
        if (oneof == EventFields.LOG_LIST) {
            row[DATA] = SkyWalkingLogs.list(record, oneofAt, oneofLength);
        } else {
            row[DATA] = Arrays.copyOfRange(record, oneofAt, oneofAt + oneofLength);
        }
        if (row[CONTENT_TYPE] == null) {
            row[CONTENT_TYPE] = switch (oneof) {
                case EventFields.SEGMENT -> ContentTypes.SKYWALKING_SEGMENT;
                case EventFields.LOG_LIST -> ContentTypes.SKYWALKING_LOGS;
                default -> ContentTypes.sniffData(oneof);
            };
        }
        return row;
    }

    // In µs, as in Spark; 0 means absent.
    private static Object time(long millis) throws MalformedException {
        if (millis > MOST_MILLIS || millis < -MOST_MILLIS) {
            throw new MalformedException("timestamp " + millis + " ms is out of range", 0);
        }
        return millis == 0 ? null : millis * 1000;
    }

    private static UTF8String struct(WireReader in) throws MalformedException {
        JsonBuffer json = Scratch.get().attributes;
        int outer = in.enter(EventFields.FIELDS);
        StructJson.object(in, json);
        in.leave(outer);
        return json.take();
    }
}
