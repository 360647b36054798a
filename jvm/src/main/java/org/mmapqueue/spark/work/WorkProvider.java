package org.mmapqueue.spark.work;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.RecordSchema;

/** The provider of the source of {@code process_stream}, which names it by its class. Spark creates instances. */
public final class WorkProvider implements TableProvider {

    /** Called by Spark, by reflection. */
    public WorkProvider() {}

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        WorkOptions unused = WorkOptions.of(new Options(options)); // throws if one is invalid
        return RecordSchema.DELIVERED;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new WorkTable(WorkOptions.of(new Options(properties)));
    }

    private record WorkTable(WorkOptions options) implements SupportsRead {

        @Override
        public String name() {
            return options.toString();
        }

        @Override
        @SuppressWarnings("deprecation") // abstract before Spark 4.1
        public StructType schema() {
            return RecordSchema.DELIVERED;
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap unused) {
            return () -> new WorkScan(options);
        }
    }

    private record WorkScan(WorkOptions options) implements Scan {

        @Override
        public StructType readSchema() {
            return RecordSchema.DELIVERED;
        }

        @Override
        public String description() {
            return options.toString();
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            return new WorkStream(options);
        }
    }
}
