/**
 * The command line and the jobs of Python: verify and repair a queue directory that no process has open. It uses
 * the packages below {@code tool}. Begin with {@link org.mmapqueue.tool.Main}.
 */
package org.mmapqueue.tool;
