/**
 * The format of a run, an immutable file of consecutive records of one partition: its name, writing it, reading it. It
 * uses {@code archive.files}, and the layout of records in {@code segment}. Begin at {@link
 * org.mmapqueue.archive.run.RunName}.
 */
package org.mmapqueue.archive.run;
