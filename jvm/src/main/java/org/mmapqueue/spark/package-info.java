/**
 * The queue as a Spark data source, {@code format("mmapqueue")}: provider, table, catalog and plugin. It uses
 * {@code read}, {@code write} and {@code common}; classes for newer versions of Spark are loaded by name, so one
 * jar serves Spark 3.5 to 4.3. Begin with {@link org.mmapqueue.spark.MmapQueueProvider}.
 */
package org.mmapqueue.spark;
