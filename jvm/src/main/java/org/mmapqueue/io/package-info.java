/**
 * Files, mappings, fsync, unmapping and process locks; every change of the file system goes through {@link
 * org.mmapqueue.io.Storage}. It uses {@code errors} alone. Begin at {@link org.mmapqueue.io.Storage}.
 */
package org.mmapqueue.io;
