/**
 * The archive: one directory on any file system that holds the records of many queues, for readers on any host. It uses
 * {@code archive.run}, {@code archive.files}, {@code log}, {@code config} and the packages below them. Begin at {@link
 * org.mmapqueue.archive.Archive}; {@link org.mmapqueue.archive.RunList} knows the runs that hold a range of records,
 * {@link org.mmapqueue.archive.ArchiveReader} reads them.
 *
 * <p><b>Errors.</b> Methods that change or list an archive throw IOException when the file system fails; the caller may
 * retry. {@link org.mmapqueue.archive.ArchivePartition} and {@link org.mmapqueue.archive.ArchiveReader} throw the
 * exceptions that a queue's own readers throw.
 */
package org.mmapqueue.archive;
