/**
 * Runs queues on a simulated disk, cuts the power, and checks what the disk has kept. It uses {@code harness}, {@code
 * support} and the core by {@link org.mmapqueue.support.StorageQueue}. Begin with {@link Simulator}; {@link PowerLoss}
 * is {@code make powerloss}, {@link SimulatorTest} the short form.
 */
package org.mmapqueue.powerloss;
