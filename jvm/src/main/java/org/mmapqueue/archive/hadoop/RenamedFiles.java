package org.mmapqueue.archive.hadoop;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.EnumSet;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.IOUtils;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.TemporaryNames;

/** Files that are written under another name, fsynced, and renamed atomically, as on HDFS. */
final class RenamedFiles implements HadoopFiles.Publication {
    private final FileSystem system;
    /** Provides a rename that, unlike that of {@link FileSystem}, specifies what happens if the new name exists. */
    private final FileContext context;

    private final Path root;

    RenamedFiles(FileSystem system, Configuration configuration, Path root) throws IOException {
        this.system = system;
        this.root = root;
        this.context = FileContext.getFileContext(root.toUri(), configuration);
    }

    @Override
    public void createRoot() throws IOException {
        system.mkdirs(root);
    }

    @Override
    public boolean create(String name, Path target, ArchiveFiles.Content content) throws IOException {
        if (system.exists(target)) {
            return false;
        }
        try {
            publish(name, target, content, Rename.NONE);
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        }
    }

    @Override
    public void replace(String name, Path target, byte[] content) throws IOException {
        publish(name, target, out -> out.write(content), Rename.OVERWRITE);
    }

    private void publish(String name, Path target, ArchiveFiles.Content content, Rename how) throws IOException {
        Path written = new Path(new Path(root, ArchiveFiles.TEMPORARY), TemporaryNames.of(name, UUID.randomUUID()));
        boolean published = false;
        try {
            write(inDirectory(written, () -> context.create(written, EnumSet.of(CreateFlag.CREATE))), content);
            inDirectory(target, () -> {
                context.rename(written, target, how);
                return target;
            });
            published = true;
        } finally {
            if (!published) {
                discard(written);
            }
        }
    }

    private interface Operation<T> {
        T run() throws IOException;
    }

    // Runs an operation that does not create the directory of its file, and repeats it once the directory exists.
    private <T> T inDirectory(Path file, Operation<T> operation) throws IOException {
        try {
            return operation.run();
        } catch (FileNotFoundException e) {
            makeDirectory(file.getParent());
            return operation.run();
        }
    }

    // Creates a directory below the archive's, which must exist: system.mkdirs would create that, too.
    private void makeDirectory(Path directory) throws IOException {
        if (directory.equals(root)) {
            if (!system.exists(root)) {
                throw new NoSuchFileException(root.toString(), null, "the archive's directory does not exist");
            }
            return;
        }
        makeDirectory(directory.getParent());
        try {
            context.mkdir(directory, FsPermission.getDirDefault(), false);
        } catch (FileAlreadyExistsException e) {
            // by another process; a file of this name fails the next operation
        }
    }

    // Not by try-with-resources: HDFS throws the same exception from a write and from the close after it.
    private static void write(FSDataOutputStream out, ArchiveFiles.Content content) throws IOException {
        boolean isWritten = false;
        try {
            content.writeTo(out);
            out.hsync();
            isWritten = true;
        } finally {
            if (!isWritten) {
                IOUtils.closeStream(out);
            }
        }
        out.close();
    }

    // What a failure leaves here is deleted when the partition is shipped again.
    private void discard(Path written) {
        try {
            system.delete(written, false);
        } catch (IOException e) {
            // the failure of the write says more
        }
    }

    @Override
    public boolean isHierarchical() {
        return true;
    }
}
