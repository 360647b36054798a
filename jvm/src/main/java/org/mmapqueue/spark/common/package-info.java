/** Options, the directories of a queue's partitions, and places in them: what reading and writing share. */
package org.mmapqueue.spark.common;
