/**
 * The files of an archive on any file system: {@link org.mmapqueue.archive.files.ArchiveFiles} is the contract, {@link
 * org.mmapqueue.archive.files.LocalFiles} the implementation for {@code file:}. Others are in {@code archive.hadoop},
 * which {@link org.mmapqueue.archive.files.Archives} loads by name. It uses {@code errors} alone.
 */
package org.mmapqueue.archive.files;
