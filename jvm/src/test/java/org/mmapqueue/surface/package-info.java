/**
 * Random sequences over the whole public surface, held against one reference in plain collections: all that a queue
 * promises while its features meet each other, crashes, faults and interrupts.
 */
package org.mmapqueue.surface;
