/**
 * Which consumers and producers exist, in this process and in others. It uses {@code recovery}, {@code flush},
 * {@code config}, {@code meta} and the packages below them. Begin at {@link org.mmapqueue.registry.Registry}.
 */
package org.mmapqueue.registry;
