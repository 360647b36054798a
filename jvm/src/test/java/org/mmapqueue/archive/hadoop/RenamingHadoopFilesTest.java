package org.mmapqueue.archive.hadoop;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledForJreRange;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.support.ArchiveFilesContract;

/** Over Hadoop's local file system, which renames as HDFS does, but not atomically. */
@DisabledForJreRange(minVersion = 24, disabledReason = "this Hadoop calls Subject.getSubject, which is gone")
class RenamingHadoopFilesTest extends ArchiveFilesContract {
    @Override
    protected ArchiveFiles missing() {
        Configuration configuration = new Configuration();
        configuration.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
        configuration.set("fs.AbstractFileSystem.file.impl", "org.apache.hadoop.fs.local.RawLocalFs");
        configuration.setBoolean("fs.file.impl.disable.cache", true);
        return new HadoopFiles(temp.resolve("archive").toUri(), configuration, Set.of("file"));
    }

    @Override
    @Disabled("this file system checks for the new name before it renames")
    @Test
    protected void oneOfManyThreadsCreatesAFile() {}

    @Test
    void aFileSystemWithoutExclusiveCreationIsAnError() {
        ArchiveException e = assertThrows(
                ArchiveException.class, () -> new HadoopFiles(URI.create("file:///archive"), new Configuration()));
        assertTrue(e.getMessage().contains("scheme file"), e.getMessage());
        assertTrue(e.getMessage().contains("hdfs and viewfs"), e.getMessage());
    }

    @Test
    void otherSchemesGoToHadoop() {
        RuntimeException e =
                assertThrows(RuntimeException.class, () -> Archives.files(URI.create("nothing://host/archive")));
        assertTrue(e.getMessage().contains("nothing"), e.getMessage());
    }
}
