/**
 * The roofline: what this machine gives to a ring of memory-mapped segments when there is no queue around it. No
 * cursors on disk, no recovery, no fan-out; one writer, one reader, one thread that makes segments ready, and one that
 * fsyncs them if told so.
 */
package org.mmapqueue.bench.roofline;
