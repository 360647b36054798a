/**
 * The public face of the queue: {@link org.mmapqueue.MmapQueue} is where to begin. Callers name the packages that the
 * module exports; every other package may change without notice. Its value types use nothing but the JDK, and every
 * package below uses them; its entry points use all packages below.
 *
 * <p><b>None.</b> A result that may be missing is an Optional. Only poll and {@link
 * org.mmapqueue.Consumer#peek} return null, which allocates nothing; they are annotated with JSpecify's Nullable, and
 * everything else is never null. A duration of zero in a configuration means never, or no limit.
 *
 * <p><b>Threads.</b> Any number of threads may use every public class of this package at once, unless its Javadoc says
 * otherwise. One process writes a queue, which an OS lock ensures. A consumer is owned by one process at a time.
 *
 * <p><b>Errors.</b> Every error is an exception of {@link org.mmapqueue.errors}. A blocking call that is interrupted
 * throws {@link java.lang.InterruptedException} and has no effect.
 */
@NullMarked
package org.mmapqueue;

import org.jspecify.annotations.NullMarked;
