/**
 * A persistent queue on memory-mapped files. Begin at {@link org.mmapqueue.MmapQueue}.
 *
 * <p>The jar also has a Spark data source, which Spark finds on the class path. Spark's jars have no module names, so
 * this module cannot require them.
 */
module org.mmapqueue {
    requires java.management;
    // Unmaps files before Java 22.
    requires jdk.unsupported;
    requires org.slf4j;
    requires static org.jspecify;
    // Compresses archives with zstd.
    requires static com.github.luben.zstd_jni;

    exports org.mmapqueue;
    exports org.mmapqueue.bigqueue;
    exports org.mmapqueue.errors;
    exports org.mmapqueue.metrics;
    exports org.mmapqueue.tool.copy;
    exports org.mmapqueue.tool.report;
    exports org.mmapqueue.typed;
}
