/**
 * What is read: a queue in a local directory, or an archive, as interfaces that have no more than a scan needs. It
 * uses {@code common}, the queue and the archive. Begin with {@link org.mmapqueue.spark.source.Location}.
 */
package org.mmapqueue.spark.source;
