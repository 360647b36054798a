/**
 * Verifies a queue directory without a change to it. It uses {@code scan} and {@code report}. Begin with {@link
 * org.mmapqueue.tool.verify.Verifier}.
 */
package org.mmapqueue.tool.verify;
