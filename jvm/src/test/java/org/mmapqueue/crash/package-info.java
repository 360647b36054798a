/**
 * Processes that are killed at any moment, and what they leave compared with what they had been told. {@link CrashMain}
 * is the program ({@code make crash}), {@link CrashTest} its short form.
 */
package org.mmapqueue.crash;
