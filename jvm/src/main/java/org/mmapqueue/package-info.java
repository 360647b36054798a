/**
 * The queue: {@link org.mmapqueue.MmapQueue} is where to begin.
 *
 * <p><b>Threads.</b> Every public class here may be used by any number of threads at once. One process writes a queue;
 * an OS lock sees to that. A consumer is owned by one process at a time.
 *
 * <p><b>Errors.</b> Everything that goes wrong is an exception of {@link org.mmapqueue.errors}; a blocking call that
 * is interrupted raises {@link java.lang.InterruptedException} and has done nothing.
 */
package org.mmapqueue;
