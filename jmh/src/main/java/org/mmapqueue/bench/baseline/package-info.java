/** Baselines: the plainest ways to move the same bytes. None of them is a queue on disk. */
package org.mmapqueue.bench.baseline;
