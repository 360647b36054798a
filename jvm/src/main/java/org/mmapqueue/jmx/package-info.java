/** MBeans of open queues. The only package that uses {@code javax.management}, which a JVM may lack. */
package org.mmapqueue.jmx;
