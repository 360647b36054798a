/**
 * The queue as a Spark data source, {@code format("mmapqueue")}: what Spark asks for by name. One jar serves Spark 3.5
 * to 4.3; what only newer versions have is in classes that nothing else refers to. {@code common} is below {@code read}
 * and {@code write}, which do not know each other.
 */
package org.mmapqueue.spark;
