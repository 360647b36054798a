/** Which segments stay mapped, and for whom: the replacement policy, pins, and mapping ahead of the writer. */
package org.mmapqueue.swap;
