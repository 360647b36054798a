/**
 * Opens a directory: checks which files it has, and finds the log end after a crash. It uses {@code log}, {@code
 * config}, {@code swap} and the packages below them. Begin at {@link org.mmapqueue.recovery.Recovery}; {@link
 * org.mmapqueue.recovery.QueueDirectory} reads and creates meta.dat.
 */
package org.mmapqueue.recovery;
