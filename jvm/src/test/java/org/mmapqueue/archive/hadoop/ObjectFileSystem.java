package org.mmapqueue.archive.hadoop;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.fs.Abortable;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A file system that stores a file as a whole when its stream is closed, on condition if that is asked for: as an object
 * store does.
 */
public class ObjectFileSystem extends RawLocalFileSystem {
    @Override
    public boolean hasPathCapability(Path path, String capability) throws IOException {
        return capability.equals(HadoopFiles.CONDITIONAL) || super.hasPathCapability(path, capability);
    }

    @Override
    public FSDataOutputStream create(
            Path path, boolean overwrite, int bufferSize, short replication, long blockSize, Progressable progress)
            throws IOException {
        return new FSDataOutputStream(new ObjectStream(pathToFile(path), !overwrite), null);
    }

    @Override
    public FSDataOutputStream create(
            Path path,
            FsPermission permission,
            boolean overwrite,
            int bufferSize,
            short replication,
            long blockSize,
            Progressable progress)
            throws IOException {
        return create(path, overwrite, bufferSize, replication, blockSize, progress);
    }

    @Override
    public ObjectBuilder createFile(Path path) {
        return new ObjectBuilder(this, path);
    }

    /** Knows the one option. */
    static final class ObjectBuilder extends FSDataOutputStreamBuilder<FSDataOutputStream, ObjectBuilder> {
        ObjectBuilder(FileSystem system, Path path) {
            super(system, path);
        }

        @Override
        public ObjectBuilder getThisBuilder() {
            return this;
        }

        @Override
        public FSDataOutputStream build() throws IOException {
            rejectUnknownMandatoryKeys(java.util.Set.of(HadoopFiles.CONDITIONAL), "");
            boolean exclusive = getOptions().getBoolean(HadoopFiles.CONDITIONAL, false);
            return new FSDataOutputStream(
                    new ObjectStream(((ObjectFileSystem) getFS()).pathToFile(getPath()), exclusive), null);
        }
    }

    /** Keeps the content until it is closed. */
    private static final class ObjectStream extends OutputStream implements Abortable {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final File file;
        private final boolean exclusive;
        private boolean closed;

        ObjectStream(File file, boolean exclusive) {
            this.file = file;
            this.exclusive = exclusive;
        }

        @Override
        public void write(int b) {
            bytes.write(b);
        }

        @Override
        public void write(byte[] from, int start, int length) {
            bytes.write(from, start, length);
        }

        @Override
        public AbortableResult abort() {
            closed = true;
            return null;
        }

        @Override
        public void close() throws IOException {
            if (closed) {
                return;
            }
            closed = true;
            Files.createDirectories(file.toPath().getParent());
            java.nio.file.Path part = Files.createTempFile("object", null);
            try {
                Files.write(part, bytes.toByteArray());
                if (exclusive) {
                    Files.copy(part, file.toPath());
                } else {
                    Files.copy(part, file.toPath(), StandardCopyOption.REPLACE_EXISTING);
                }
            } catch (FileAlreadyExistsException e) {
                throw new IOException("412 Precondition Failed", e);
            } finally {
                Files.delete(part);
            }
        }
    }
}
