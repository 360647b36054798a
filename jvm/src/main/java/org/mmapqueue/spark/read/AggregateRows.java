package org.mmapqueue.spark.read;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/**
 * Aggregates with their computed rows. Immutable.
 *
 * @param aggregates the aggregates
 * @param rows the rows
 */
record AggregateRows(Aggregates aggregates, List<Object[]> rows) {

    /** The only input partition, which contains the rows. */
    private record Answer(Object[][] rows) implements InputPartition {
        private static final long serialVersionUID = 1L;
    }

    /** Returns the rows of the input partition. */
    private static final class AnswerReaderFactory implements PartitionReaderFactory {
        private static final long serialVersionUID = 1L;

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            Object[][] rows = ((Answer) partition).rows;
            return new PartitionReader<>() {
                private int next;

                @Override
                public boolean next() {
                    return next++ < rows.length;
                }

                @Override
                public InternalRow get() {
                    return new GenericInternalRow(rows[next - 1]);
                }

                @Override
                public void close() {
                    // nothing is open
                }
            };
        }
    }

    /** The input partition. */
    InputPartition[] inputs() {
        return new InputPartition[] {new Answer(rows.toArray(Object[][]::new))};
    }

    /** The factory of its reader. */
    static PartitionReaderFactory readerFactory() {
        return new AnswerReaderFactory();
    }
}
