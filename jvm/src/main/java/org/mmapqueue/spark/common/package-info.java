/**
 * What reading and writing share: options, partition directories, offsets by partition. It uses only the queue.
 * Begin with {@link org.mmapqueue.spark.common.Options}.
 */
package org.mmapqueue.spark.common;
