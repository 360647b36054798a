package org.mmapqueue.swap;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The lock of the table of slots.
 *
 * @param changed a slot was filled, fsynced in part or lost its last pin, or a mapping was unmapped
 */
record SlotLock(ReentrantLock lock, Condition changed) {}
