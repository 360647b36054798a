/**
 * Repairs a copy of a queue directory. It uses {@code verify} and {@code scan}. Begin with {@link
 * org.mmapqueue.tool.repair.Repairer}.
 */
package org.mmapqueue.tool.repair;
