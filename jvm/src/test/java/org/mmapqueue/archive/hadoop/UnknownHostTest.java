package org.mmapqueue.archive.hadoop;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.UncheckedIOException;
import java.net.URI;
import java.net.UnknownHostException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.junit.jupiter.api.Test;

/** A name that is not resolved is an outage: the network of a host may be up later than its queues. */
class UnknownHostTest {
    /** Fails as HDFS does. */
    public static final class Unresolved extends RawLocalFileSystem {
        @Override
        public void initialize(URI uri, Configuration configuration) {
            throw new IllegalArgumentException(new UnknownHostException("nodes"));
        }
    }

    @Test
    void aNameThatIsNotResolvedIsAnOutage() {
        Configuration configuration = new Configuration();
        configuration.set("fs.unresolved.impl", Unresolved.class.getName());
        URI uri = URI.create("unresolved://nodes/archive");
        UncheckedIOException e = assertThrows(UncheckedIOException.class, () -> new HadoopFiles(uri, configuration));
        assertInstanceOf(UnknownHostException.class, e.getCause());
    }
}
