/**
 * Payloads of SkyWalking as rows. It uses {@code wire} and {@code rows}. Begin with {@code SkyWalkingLogs}.
 */
package org.mmapqueue.spark.events.skywalking;
