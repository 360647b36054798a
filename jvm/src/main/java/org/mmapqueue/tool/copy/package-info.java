/**
 * Copies a queue directory into a ring of another geometry, and resizes one in place. It uses {@code verify} and {@code
 * scan}, and of the core the switch to the new ring. Begin with {@link org.mmapqueue.tool.copy.Copier}.
 */
package org.mmapqueue.tool.copy;
