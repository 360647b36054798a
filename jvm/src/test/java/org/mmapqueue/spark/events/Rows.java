package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.envelope.EventDecoder;
import org.mmapqueue.spark.events.rows.LogRow;
import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.rows.SpanRow;

/** The results of functions as Java's maps, without columns that are null. */
public final class Rows {
    private Rows() {}

    public static Map<String, Object> event(byte[] record) {
        return row(EventFunction.invoke(record), EventDecoder.SCHEMA);
    }

    public static List<Map<String, Object>> logs(String contentType, byte[] data) {
        return rows(LogsFunction.invoke(text(contentType), data, 0, null), LogRow.SCHEMA);
    }

    public static List<Map<String, Object>> logs(String contentType, String data) {
        return logs(contentType, data.getBytes(UTF_8));
    }

    public static List<Map<String, Object>> spans(String contentType, byte[] data) {
        return rows(SpansFunction.invoke(text(contentType), data, 0, null), SpanRow.SCHEMA);
    }

    public static List<Map<String, Object>> points(String contentType, byte[] data) {
        return rows(PointsFunction.invoke(text(contentType), data, 0, null), PointRow.SCHEMA);
    }

    public static UTF8String text(String text) {
        return text == null ? null : UTF8String.fromString(text);
    }

    public static List<Map<String, Object>> rows(ArrayData array, String schema) {
        List<Map<String, Object>> rows = new ArrayList<>();
        for (Object row : ((GenericArrayData) array).array()) {
            rows.add(row(row, schema));
        }
        return rows;
    }

    private static Map<String, Object> row(Object row, String schema) {
        String[] names = schema.split(" \\w+(, )?");
        Object[] values = ((GenericInternalRow) row).values();
        Map<String, Object> columns = new LinkedHashMap<>();
        for (int i = 0; i < names.length; i++) {
            if (values[i] != null) {
                columns.put(names[i], plain(values[i]));
            }
        }
        return columns;
    }

    private static Object plain(Object value) {
        if (value instanceof UTF8String text) {
            return text.toString();
        }
        if (value instanceof MapData map) {
            Map<String, String> entries = new LinkedHashMap<>();
            for (int i = 0; i < map.numElements(); i++) {
                entries.put(
                        map.keyArray().getUTF8String(i).toString(),
                        map.valueArray().getUTF8String(i).toString());
            }
            return entries;
        }
        return value;
    }
}
