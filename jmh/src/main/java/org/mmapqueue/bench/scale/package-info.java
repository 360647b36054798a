/** What a queue of many gigabytes costs: memory, time for each record, opening, recovery. */
package org.mmapqueue.bench.scale;
