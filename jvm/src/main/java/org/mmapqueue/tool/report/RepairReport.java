package org.mmapqueue.tool.report;

import java.util.List;

/**
 * What a repair has done. Immutable.
 *
 * @param path the directory that is a whole queue now
 * @param before what was found
 * @param actions what was done, one line for each
 * @param lost the offsets that are lost, as findings that say which; empty when none is
 */
public record RepairReport(String path, VerifyReport before, List<String> actions, List<Finding> lost) {}
