import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Numbers the rows of each value by transformWithState, for test_real_time_state.py. */
public final class RowCounts extends StatefulProcessor<String, Row, Row> {
    private transient ValueState<Long> count;

    /** From rows of value (string), partition and offset to rows of the same columns. */
    public static Dataset<Row> of(Dataset<Row> rows) {
        return rows.groupByKey((MapFunction<Row, String>) row -> row.getString(0), Encoders.STRING())
                .transformWithState(
                        new RowCounts(), TimeMode.None(), OutputMode.Update(), Encoders.row(rows.schema()));
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        count = getHandle().getValueState("count", Encoders.LONG(), TTLConfig.NONE());
    }

    @Override
    public Iterator<Row> handleInputRows(String value, Iterator<Row> rows, TimerValues timers) {
        List<Row> found = new ArrayList<>();
        while (rows.hasNext()) {
            Row row = rows.next();
            long number = (count.exists() ? count.get() : 0) + 1;
            count.update(number);
            found.add(RowFactory.create(value + " " + number, row.getInt(1), row.getLong(2)));
        }
        return CollectionConverters.asScala(found.iterator());
    }
}
