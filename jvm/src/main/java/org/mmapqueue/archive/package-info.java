/**
 * The archive: one directory on any file system that holds the records of many queues, for readers on any host. {@link
 * org.mmapqueue.archive.Archive} is where to begin; {@link org.mmapqueue.archive.RunList} says which runs hold which
 * records, {@link org.mmapqueue.archive.ArchiveReader} reads them.
 *
 * <p><b>Errors.</b> Methods that change or list an archive throw IOException when the file system fails; the caller may
 * retry. {@link org.mmapqueue.archive.ArchivePartition} and {@link org.mmapqueue.archive.ArchiveReader} throw the
 * exceptions that a queue's own readers throw.
 */
package org.mmapqueue.archive;
