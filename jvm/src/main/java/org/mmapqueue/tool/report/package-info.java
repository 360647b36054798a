/**
 * What a verification or a repair reports, and its progress. It uses nothing else of the tools. Begin with {@link
 * org.mmapqueue.tool.report.VerifyReport}.
 */
package org.mmapqueue.tool.report;
