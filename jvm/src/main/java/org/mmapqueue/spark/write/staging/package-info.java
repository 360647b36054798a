/**
 * Files that hold the rows of a batch until it is pushed, and their manifest. It uses nothing else of the data
 * source. Begin with {@code StagingArea}.
 */
package org.mmapqueue.spark.write.staging;
