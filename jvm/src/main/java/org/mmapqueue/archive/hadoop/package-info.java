/**
 * The files of an archive through Hadoop's FileSystem; loaded where Hadoop's classes exist. It uses {@code archive.files}
 * and {@code errors}. Begin at {@link org.mmapqueue.archive.hadoop.HadoopFiles}.
 */
package org.mmapqueue.archive.hadoop;
