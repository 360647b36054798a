/**
 * Other queues. Each is set up for speed by its own documentation, and keeps its records when the process is killed.
 */
package org.mmapqueue.bench.peer;
