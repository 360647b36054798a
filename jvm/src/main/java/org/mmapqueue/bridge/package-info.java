/**
 * The calls that Python makes through py4j, on top of the public API alone.
 *
 * <p>A py4j call costs tens of microseconds and an exception milliseconds, so parameters and results are integers and
 * short strings, frequent outcomes are numbers ({@link org.mmapqueue.bridge.Status}), and records cross in memory that
 * both processes map ({@link org.mmapqueue.bridge.SharedBuffer}). Begin with {@link org.mmapqueue.bridge.Bridge}, which
 * opens queues.
 */
package org.mmapqueue.bridge;
