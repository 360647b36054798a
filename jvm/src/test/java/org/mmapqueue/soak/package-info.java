/**
 * Programs that run long or measure: races of processes, the soak, a full disk, wake-ups, fan-out, random reads. They
 * use {@code harness}, {@code support} and the face of the queue. Begin with {@link ConsumerRaces} and {@link SoakRun}.
 */
package org.mmapqueue.soak;
