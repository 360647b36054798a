/**
 * The files of an archive on any file system: the contract, and the implementation for {@code file:}; others are in
 * {@code archive.hadoop}, which {@link org.mmapqueue.archive.files.Archives} loads by name. It uses {@code errors}
 * alone. Begin at {@link org.mmapqueue.archive.files.ArchiveFiles}.
 */
package org.mmapqueue.archive.files;
