/** Compares two builds of the queue in one run. */
package org.mmapqueue.bench.guard;
