package org.mmapqueue.archive.hadoop;

import org.apache.hadoop.conf.Configuration;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.support.ArchiveFilesContract;

/** Over a file system that creates as an object store does. */
class ConditionalHadoopFilesTest extends ArchiveFilesContract {
    @Override
    protected ArchiveFiles missing() {
        Configuration configuration = new Configuration();
        configuration.set("fs.file.impl", ObjectFileSystem.class.getName());
        configuration.setBoolean("fs.file.impl.disable.cache", true);
        return new HadoopFiles(temp.resolve("archive").toUri(), configuration);
    }

    @Override
    protected boolean isHierarchical() {
        return false;
    }
}
