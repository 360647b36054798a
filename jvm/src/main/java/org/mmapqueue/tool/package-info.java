/**
 * Tools for a queue directory that nobody has open: {@link org.mmapqueue.tool.Verifier} says what is whole in it, and
 * changes nothing; {@link org.mmapqueue.tool.Repairer} makes it a queue again. They read files, not mappings, and
 * share nothing with the queue's own readers but the layouts, so that one checks the other.
 */
package org.mmapqueue.tool;
