package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.envelope.ContentTypes;
import org.mmapqueue.spark.events.envelope.EventFields;
import org.mmapqueue.spark.events.envelope.EventTypes;
import org.mmapqueue.spark.events.envelope.StructWriter;
import org.mmapqueue.spark.events.wire.WireWriter;

/**
 * {@code record(time_ms, name, type, remote, meta, content_type, data, fields, id, source)}: an event as a record, the
 * inverse of {@code event}. Equal arguments give equal bytes. Thread-safe.
 */
public final class RecordFunction extends RowFunction<byte[]> {
    private static final long serialVersionUID = 1;
    private static final int HEADER_BYTES = 256;

    /** Called by the catalog. */
    public RecordFunction() {
        super(
                "record",
                DataTypes.BinaryType,
                DataTypes.LongType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.BooleanType,
                Schemas.texts(),
                DataTypes.StringType,
                DataTypes.BinaryType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType);
    }

    /**
     * Encodes an event; Spark calls it. Texts, {@code meta} and {@code data} may be null, which means empty.
     *
     * @param timeMillis milliseconds since 1970
     * @param name of the event
     * @param type a name of {@link EventTypes}; any other text is Other
     * @param remote whether senders forward the event
     * @param meta metadata of the transport
     * @param contentType media type of the payload. SkyWalking's segments and logs are stored in Satellite's fields
     * @param data the payload
     * @param fields structured data, a JSON object
     * @param id identity given by the client
     * @param source origin
     * @return the serialized Event
     * @throws IllegalArgumentException if {@code fields} is not a JSON object
     */
    public static byte[] invoke(
            long timeMillis,
            UTF8String name,
            UTF8String type,
            boolean remote,
            MapData meta,
            UTF8String contentType,
            byte[] data,
            UTF8String fields,
            UTF8String id,
            UTF8String source) {
        WireWriter out = new WireWriter(HEADER_BYTES + (data == null ? 0 : data.length));
        if (timeMillis != 0) {
            out.varint(EventFields.TIMESTAMP, timeMillis);
        }
        text(out, EventFields.NAME, name);
        out.varint(EventFields.TYPE, EventTypes.number(type));
        if (remote) {
            out.varint(EventFields.REMOTE, 1);
        }
        if (meta != null) {
            meta(out, meta);
        }
        payload(out, contentType, data);
        if (fields != null && fields.numBytes() > 0) {
            StructWriter.write(out, EventFields.FIELDS, fields.getBytes());
        }
        text(out, EventFields.ID, id);
        text(out, EventFields.SOURCE, source);
        return out.toBytes();
    }

    private static void payload(WireWriter out, UTF8String contentType, byte[] data) {
        int field = EventFields.DATA;
        if (ContentTypes.SKYWALKING_SEGMENT.equals(contentType)) {
            field = EventFields.SEGMENT;
        } else if (ContentTypes.SKYWALKING_LOGS.equals(contentType)) {
            field = EventFields.LOG_LIST;
        } else {
            text(out, EventFields.CONTENT_TYPE, contentType);
        }
        if (data != null && (data.length > 0 || field != EventFields.DATA)) {
            out.bytes(field, data, 0, data.length);
        }
    }

    private static void meta(WireWriter out, MapData meta) {
        ArrayData keys = meta.keyArray();
        ArrayData values = meta.valueArray();
        for (int i = 0; i < meta.numElements(); i++) {
            int entry = out.begin(EventFields.META);
            text(out, 1, keys.getUTF8String(i));
            text(out, 2, values.isNullAt(i) ? null : values.getUTF8String(i));
            out.end(entry);
        }
    }

    private static void text(WireWriter out, int field, UTF8String text) {
        if (text != null && text.numBytes() > 0) {
            byte[] bytes = text.getBytes();
            out.bytes(field, bytes, 0, bytes.length);
        }
    }

    @Override
    public byte[] produceResult(InternalRow input) {
        return invoke(
                input.getLong(0),
                string(input, 1),
                string(input, 2),
                input.getBoolean(3),
                input.isNullAt(4) ? null : input.getMap(4),
                string(input, 5),
                input.isNullAt(6) ? null : input.getBinary(6),
                string(input, 7),
                string(input, 8),
                string(input, 9));
    }
}
