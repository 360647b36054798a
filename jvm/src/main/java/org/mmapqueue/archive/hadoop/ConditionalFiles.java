package org.mmapqueue.archive.hadoop;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.mmapqueue.archive.files.ArchiveFiles;

/** Files as objects that become visible when their stream is closed, on the condition that no object has the name. */
final class ConditionalFiles implements HadoopFiles.Publication {
    private final FileSystem system;

    ConditionalFiles(FileSystem system) {
        this.system = system;
    }

    @Override
    public void createRoot() {
        // A directory is not an object, and exists with the first one.
    }

    @Override
    public boolean create(String name, Path target, ArchiveFiles.Content content) throws IOException {
        FSDataOutputStreamBuilder<?, ?> builder = system.createFile(target);
        builder.overwrite(true); // the condition replaces the check before the upload
        builder.must(HadoopFiles.CONDITIONAL, true);
        FSDataOutputStream out = builder.build();
        write(out, content);
        try {
            out.close();
            return true;
        } catch (IOException e) {
            if (system.exists(target)) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public void replace(String name, Path target, byte[] content) throws IOException {
        FSDataOutputStream out = system.create(target, true);
        write(out, bytes -> bytes.write(content));
        out.close();
    }

    // Writes the content, without closing the stream after a failure: that would make a part of the content visible.
    private static void write(FSDataOutputStream out, ArchiveFiles.Content content) throws IOException {
        boolean written = false;
        try {
            content.writeTo(out);
            written = true;
        } finally {
            if (!written) {
                out.abort();
            }
        }
    }

    @Override
    public boolean isHierarchical() {
        return false;
    }
}
