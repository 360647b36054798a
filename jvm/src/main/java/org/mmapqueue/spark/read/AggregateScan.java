package org.mmapqueue.spark.read;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A scan of rows that were computed in planning. Immutable. */
final class AggregateScan implements Scan, Batch {
    private final ScanRequest request;
    private final AggregateRows rows;

    /** Makes a scan that returns computed rows. */
    AggregateScan(ScanRequest request, AggregateRows rows) {
        this.request = request;
        this.rows = rows;
    }

    @Override
    public StructType readSchema() {
        return rows.aggregates().schema();
    }

    @Override
    public String description() {
        return request.describeAggregates(rows.aggregates().toString());
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
        return rows.inputs();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return AggregateRows.readerFactory();
    }
}
