package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.otlp.Attributes;

/**
 * {@code changed_attributes(json, names, more)}: a JSON object with members renamed, removed and added. Thread-safe.
 */
public final class AttributesFunction extends RowFunction<UTF8String> {
    private static final long serialVersionUID = 1;

    /** Called by the catalog. */
    public AttributesFunction() {
        super("changed_attributes", DataTypes.StringType, DataTypes.StringType, Schemas.texts(), DataTypes.StringType);
    }

    /**
     * Changes an object; Spark calls it.
     *
     * @param json the object; null counts as one without members, and any other text is returned unchanged
     * @param names new names by name; a null removes the member
     * @param more a JSON object with members to add or to replace; null for none
     * @return the object
     */
    public static UTF8String invoke(UTF8String json, MapData names, UTF8String more) {
        return Attributes.changed(json, names, more);
    }

    @Override
    public UTF8String produceResult(InternalRow input) {
        return invoke(
                input.isNullAt(0) ? null : input.getUTF8String(0),
                input.getMap(1),
                input.isNullAt(2) ? null : input.getUTF8String(2));
    }
}
