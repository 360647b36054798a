/**
 * Files, mappings, forcing, unmapping and process locks. All that changes the file system goes through
 * {@link org.mmapqueue.io.Storage}.
 */
package org.mmapqueue.io;
