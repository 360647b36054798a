/** Memory, time for each record, opening and recovery of a queue of many gigabytes. Not JMH: a run fills it once. */
package org.mmapqueue.bench.scale;
