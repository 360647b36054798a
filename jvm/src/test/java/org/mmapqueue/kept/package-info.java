/**
 * Directories of format 2 as earlier versions left them, in the resources below {@code format-2}: each version opens all
 * of them.
 */
package org.mmapqueue.kept;
