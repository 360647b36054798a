package org.mmapqueue.tool.report;

import java.util.List;

/**
 * The report of a repair. Immutable.
 *
 * @param path the directory of the repaired queue
 * @param before the report before the repair
 * @param actions the changes, a line for each
 * @param lost the findings with lost records; empty when no record is lost
 */
public record RepairReport(String path, VerifyReport before, List<String> actions, List<Finding> lost) {}
