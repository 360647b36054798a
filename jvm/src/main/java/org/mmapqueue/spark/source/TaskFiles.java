package org.mmapqueue.spark.source;

import java.io.Serializable;
import java.net.URI;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.hadoop.HadoopFiles;
import org.mmapqueue.spark.common.RunningSession;

/**
 * The files of an archive for tasks. Spark sends Hadoop's configuration once to each executor. Immutable; equal if the
 * archive is the same.
 */
final class TaskFiles implements Serializable {
    private static final long serialVersionUID = 1L;

    private final URI uri;
    /** Hadoop's configuration; null where the JDK alone reads the files. */
    private final Broadcast<SerializableConfiguration> configuration;

    private TaskFiles(URI uri, Broadcast<SerializableConfiguration> configuration) {
        this.uri = uri;
        this.configuration = configuration;
    }

    /** The files for tasks of the active session; called on the driver. */
    static TaskFiles of(URI uri) {
        if (Archives.isLocal(uri)) {
            return new TaskFiles(uri, null);
        }
        JavaSparkContext context = JavaSparkContext.fromSparkContext(RunningSession.context());
        return new TaskFiles(uri, context.broadcast(new SerializableConfiguration(ArchiveLocation.configuration())));
    }

    /** Opens the files; called in tasks. */
    ArchiveFiles open() {
        return configuration == null
                ? Archives.files(uri)
                : new HadoopFiles(uri, configuration.value().value());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TaskFiles files && uri.equals(files.uri);
    }

    @Override
    public int hashCode() {
        return uri.hashCode();
    }
}
