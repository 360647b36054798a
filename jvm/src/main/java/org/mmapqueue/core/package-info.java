/**
 * One open queue of this process: opens it, shares it among handles, and closes it. It uses every package below the
 * face, and of the face the value types. Begin at {@link org.mmapqueue.core.QueueCore}; {@link
 * org.mmapqueue.core.QueueOpener} has the steps of opening.
 */
package org.mmapqueue.core;
