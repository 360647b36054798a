/**
 * Locks, signals and clocks of the hot paths: nothing in this package knows a queue. It uses {@code io} alone. Begin
 * at {@link org.mmapqueue.concurrent.SpinLock}, the exclusive spin lock of the appender and of each consumer.
 */
package org.mmapqueue.concurrent;
