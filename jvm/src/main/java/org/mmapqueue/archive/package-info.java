/**
 * The archive: one directory on any file system that holds the records of many queues, for readers on any host. {@link
 * org.mmapqueue.archive.Archive} is where to begin; {@link org.mmapqueue.archive.RunList} says which runs hold which
 * records, {@link org.mmapqueue.archive.ArchiveReader} reads them.
 *
 * <p><b>Errors.</b> What changes an archive or lists it throws IOException when the file system fails: the caller may
 * try again. {@link org.mmapqueue.archive.ArchivePartition} and {@link org.mmapqueue.archive.ArchiveReader} throw what
 * a queue's own readers throw.
 */
package org.mmapqueue.archive;
