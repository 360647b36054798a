/**
 * Kills processes at work and compares what they leave with the calls that had returned. It uses {@code harness},
 * {@code support} and the face of the queue. Begin with {@link KillLoop}; {@link CrashMain} is {@code make crash},
 * {@link CrashTest} the short form.
 */
package org.mmapqueue.crash;
