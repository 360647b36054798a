/** A writer of JSON, for answers to Python. */
package org.mmapqueue.json;
