/**
 * What is read: a queue in a local directory, or an archive, behind interfaces that say no more than a scan needs. It
 * uses {@code common}, the queue and the archive. Begin with {@link org.mmapqueue.spark.source.Location}.
 */
package org.mmapqueue.spark.source;
