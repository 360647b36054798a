package org.mmapqueue.tool.report;

/**
 * The position of a consumer. Immutable.
 *
 * @param name the consumer's name
 * @param position the stored position, in bytes: the consumer needs the log from there on
 * @param resumePosition the position at which it resumes; differs from {@code position} when no record ends there
 * @param offset the offset of its first record that is not acked, of a consumer behind the ring one in the archive; -1 when
 *     unknown
 */
public record ConsumerState(String name, long position, long resumePosition, long offset) {}
