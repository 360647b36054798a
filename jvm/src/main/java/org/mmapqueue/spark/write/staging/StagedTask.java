package org.mmapqueue.spark.write.staging;

import java.util.List;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * What a task tells the driver: where its rows are.
 *
 * @param files one for each partition that got some
 */
public record StagedTask(List<StagedFile> files) implements WriterCommitMessage {}
