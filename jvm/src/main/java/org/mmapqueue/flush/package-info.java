/** When and what is forced to the disk: by period, by count, on request, in groups. */
package org.mmapqueue.flush;
