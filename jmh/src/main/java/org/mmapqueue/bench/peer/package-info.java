/**
 * What people use instead of this queue, each set up as its own documentation says that it is fastest and still keeps
 * what it promises when the process dies.
 */
package org.mmapqueue.bench.peer;
