/**
 * The face for Python. {@link org.mmapqueue.bridge.Bridge} is where py4j comes in.
 *
 * <p>A call through py4j costs tens of microseconds whatever it does, an exception milliseconds, and bytes in a reply
 * are decoded one by one. So every method here is flat: it takes and gives back integers and short strings, "full",
 * "empty" and "closed" are numbers ({@link org.mmapqueue.bridge.Status}), and the records themselves go through a
 * {@link org.mmapqueue.bridge.Stage}, a piece of memory that both processes have mapped.
 *
 * <p>Every class may be used by any number of threads at once; the calls on one stage run one after the other.
 */
package org.mmapqueue.bridge;
