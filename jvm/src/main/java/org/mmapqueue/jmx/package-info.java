/**
 * MBeans of open queues. It uses {@code metrics}, the value types of the face, and, as the only package, {@code
 * javax.management}, which a JVM may lack. Begin at {@link org.mmapqueue.jmx.QueueBeans}.
 */
package org.mmapqueue.jmx;
