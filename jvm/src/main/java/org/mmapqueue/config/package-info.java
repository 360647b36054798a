/**
 * The configuration of one open queue: keys with their ranges, the values that were set, and the settings that
 * result from the values and the directory. It uses {@code concurrent}, {@code segment}, {@code meta}, {@code io}
 * and {@code errors}. Begin at {@link org.mmapqueue.config.Settings}; {@link org.mmapqueue.config.ConfigKey} has the
 * ranges.
 */
package org.mmapqueue.config;
