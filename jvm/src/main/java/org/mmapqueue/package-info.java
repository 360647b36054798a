/**
 * The public face of the queue: {@link org.mmapqueue.MmapQueue} is where to begin. Callers name this package and
 * {@link org.mmapqueue.errors} alone; every other package may change without notice. Its value types use nothing but
 * the JDK, and every package below uses them; its entry points use all packages below.
 *
 * <p><b>Threads.</b> Any number of threads may use every public class here at once, unless its page says otherwise. One
 * process writes a queue; an OS lock ensures it. A consumer is owned by one process at a time.
 *
 * <p><b>Errors.</b> Every error is an exception of {@link org.mmapqueue.errors}. A blocking call that is interrupted
 * throws {@link java.lang.InterruptedException} and has no effect.
 */
package org.mmapqueue;
