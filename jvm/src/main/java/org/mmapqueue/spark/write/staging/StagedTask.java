package org.mmapqueue.spark.write.staging;

import java.util.List;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * The commit message of a task: its staged files.
 *
 * @param files one for each partition with rows
 */
public record StagedTask(List<StagedFile> files) implements WriterCommitMessage {}
