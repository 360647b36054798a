package org.mmapqueue.tool.report;

/**
 * How a consumer stands.
 *
 * @param name its name
 * @param position from where it needs the log, as stored
 * @param place where it goes on: another position when no record ends at the stored one
 * @param offset the number of the next record that it has not acked; -1 when that is not known
 */
public record ConsumerState(String name, long position, long place, long offset) {}
