/**
 * What is read: a queue in a local directory, behind interfaces that say no more than a scan needs. It uses
 * {@code common} and the queue. Begin with {@link org.mmapqueue.spark.source.Location}.
 */
package org.mmapqueue.spark.source;
