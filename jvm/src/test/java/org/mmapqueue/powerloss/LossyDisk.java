package org.mmapqueue.powerloss;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.ForwardingFile;
import org.mmapqueue.io.Storage;

/**
 * A simulated disk that records what was fsynced. A cut of the power leaves that, and any part of everything else: any
 * sectors of contents, any length in between, and any subset of the changes of names (created, renamed, deleted), or
 * the first ones of them as on a journaling file system. Contents belong to files, not to names: a deleted file may
 * reappear with its contents.
 *
 * <p>An fsync of a part of a mapping makes a new file as long as that part, and no longer, as ext4 and XFS do with
 * delayed allocation. One thread at a time may change something; any thread may read.
 */
final class LossyDisk implements Storage, Closeable {
    private static final int SECTOR = 512;
    private static final int PAGE = 4096;
    private static final int[] PERCENT = {0, 10, 50, 90, 100};

    /** Called before each call that changes something; may cut the power. */
    interface Watcher {
        void before(String call);
    }

    /** A file, independent of its names; a directory has no contents. */
    private static final class Inode {
        private final FileChannel contents;
        private byte[] platter = {};

        Inode(FileChannel contents) {
            this.contents = contents;
        }

        byte[] now() {
            try {
                ByteBuffer bytes = ByteBuffer.allocate((int) contents.size());
                while (bytes.hasRemaining() && contents.read(bytes, bytes.position()) > 0) {
                    continue;
                }
                return bytes.array();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** A change of a directory that has not been fsynced. */
    private record Change(Path removed, Path put, Inode inode) {
        Path directory() {
            return (put == null ? removed : put).getParent();
        }

        void apply(Map<Path, Inode> names) {
            if (removed != null) {
                names.remove(removed);
            }
            if (put != null) {
                names.put(put, inode);
            }
        }
    }

    private final Path root;
    private final Map<Path, Inode> names = new HashMap<>();
    private final Map<Path, Inode> platterNames = new HashMap<>();
    private final List<Change> changes = new ArrayList<>();
    private final List<Inode> inodes = new ArrayList<>();
    private Watcher watcher = call -> {};

    /** A disk with an empty directory. */
    LossyDisk(Path root) {
        this.root = root;
    }

    /** A disk with what a cut has left. */
    static LossyDisk of(Map<Path, byte[]> image, Path root) {
        LossyDisk disk = new LossyDisk(root);
        image.forEach((name, bytes) -> {
            Path path = root.resolve(name);
            Inode inode = disk.make(path, bytes);
            disk.names.put(path, inode);
            disk.platterNames.put(path, inode);
        });
        return disk;
    }

    void watch(Watcher next) {
        watcher = next;
    }

    private Inode make(Path path, byte[] bytes) {
        try {
            Inode inode;
            if (bytes == null) {
                Files.createDirectories(path);
                inode = new Inode(null);
            } else {
                Files.createDirectories(path.getParent());
                Files.write(path, bytes);
                inode = new Inode(FileChannel.open(path, StandardOpenOption.READ));
                inode.platter = bytes.clone();
            }
            inodes.add(inode);
            return inode;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A copy of the disk in another directory, after the process was killed: the page cache remains. */
    LossyDisk afterKill(Path elsewhere) {
        LossyDisk next = new LossyDisk(elsewhere);
        IdentityHashMap<Inode, Inode> copies = new IdentityHashMap<>();
        names.forEach((path, inode) -> {
            Inode copy =
                    next.make(elsewhere.resolve(root.relativize(path)), inode.contents == null ? null : inode.now());
            copy.platter = inode.platter.clone();
            copies.put(inode, copy);
            next.names.put(elsewhere.resolve(root.relativize(path)), copy);
        });
        platterNames.forEach((path, inode) ->
                next.platterNames.put(elsewhere.resolve(root.relativize(path)), next.copy(inode, copies)));
        changes.forEach(change -> next.changes.add(new Change(
                moved(change.removed, elsewhere),
                moved(change.put, elsewhere),
                change.inode == null ? null : next.copy(change.inode, copies))));
        return next;
    }

    private Path moved(Path path, Path elsewhere) {
        return path == null ? null : elsewhere.resolve(root.relativize(path));
    }

    // A file without a name: only its fsynced contents can reappear.
    private Inode copy(Inode inode, Map<Inode, Inode> copies) {
        return copies.computeIfAbsent(inode, old -> {
            Path hidden = root.resolveSibling("unlinked-" + System.nanoTime());
            Inode copy = make(hidden, old.contents == null ? null : old.now());
            copy.platter = old.platter.clone();
            try {
                Files.delete(hidden);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return copy;
        });
    }

    /** What a cut of the power leaves now: contents by relative name; null for a directory. */
    Map<Path, byte[]> cut(SplittableRandom random) {
        int percent = PERCENT[random.nextInt(PERCENT.length)];
        boolean each = random.nextBoolean();
        boolean ordered = random.nextBoolean();
        Map<Path, Inode> left = new HashMap<>(platterNames);
        for (Change change : changes) {
            boolean survives = random.nextInt(100) < percent;
            if (survives) {
                change.apply(left);
            } else if (ordered) {
                break;
            }
        }
        Map<Path, byte[]> image = new TreeMap<>();
        // In the order of names: the same seed gives the same image.
        for (Map.Entry<Path, Inode> file : new TreeMap<>(left).entrySet()) {
            Path parent = file.getKey().getParent();
            if (parent.equals(root) || left.containsKey(parent)) {
                int share = each ? PERCENT[random.nextInt(PERCENT.length)] : percent;
                image.put(root.relativize(file.getKey()), blend(file.getValue(), random, share));
            }
        }
        return image;
    }

    private static byte[] blend(Inode inode, SplittableRandom random, int percent) {
        if (inode.contents == null) {
            return null;
        }
        byte[] now = inode.now();
        byte[] left = Arrays.copyOf(inode.platter, length(inode.platter.length, now.length, random, percent));
        for (int at = 0; at < left.length; at += SECTOR) {
            if (random.nextInt(100) < percent && at < now.length) {
                System.arraycopy(now, at, left, at, Math.min(SECTOR, Math.min(left.length, now.length) - at));
            }
        }
        return left;
    }

    private static int length(int before, int now, SplittableRandom random, int percent) {
        if (random.nextInt(100) >= percent || before == now) {
            return before;
        }
        return now > before && random.nextInt(4) == 0 ? before + random.nextInt(now - before) : now;
    }

    /** The kernel writes some pages back, as it may at any time. */
    void writeBack(SplittableRandom random) {
        for (Inode inode : inodes) {
            if (inode.contents != null) {
                byte[] now = inode.now();
                for (int at = 0; at < now.length; at += PAGE) {
                    if (random.nextInt(4) == 0) {
                        sync(inode, at, at + PAGE);
                    }
                }
            }
        }
    }

    private static void sync(Inode inode, int from, int to) {
        byte[] now = inode.now();
        int start = from / PAGE * PAGE;
        int end = (int) Math.min(now.length, ((long) to + PAGE - 1) / PAGE * PAGE);
        inode.platter = Arrays.copyOf(inode.platter, Math.max(inode.platter.length, end));
        System.arraycopy(now, start, inode.platter, start, Math.max(0, end - start));
    }

    private synchronized void change(Change change) {
        change.apply(names);
        changes.add(change);
    }

    @Override
    public int blockSize(long size) {
        return 1024; // small: a flush of these small segments leaves some blocks, too
    }

    @Override
    public synchronized DataFile open(Path path, Mode mode) throws IOException {
        if (mode == Mode.CREATE && !names.containsKey(path)) {
            watcher.before("create");
            DataFile file = DiskStorage.INSTANCE.open(path, mode);
            Inode inode = new Inode(FileChannel.open(path, StandardOpenOption.READ));
            inodes.add(inode);
            change(new Change(null, path, inode));
            return new TrackedFile(file, inode);
        }
        DataFile file = DiskStorage.INSTANCE.open(path, mode);
        Inode inode = names.get(path);
        if (inode == null) {
            file.close();
            throw new NoSuchFileException(path.toString(), null, "was not created on this disk");
        }
        return new TrackedFile(file, inode);
    }

    @Override
    public void createDirectories(Path directory) throws IOException {
        watcher.before("create directory");
        DiskStorage.INSTANCE.createDirectories(directory);
        if (!directory.equals(root) && !names.containsKey(directory)) {
            Inode inode = new Inode(null);
            inodes.add(inode);
            change(new Change(null, directory, inode));
            watcher.before("fsync created directory");
            syncNames(directory.getParent());
        }
    }

    @Override
    public boolean delete(Path path) throws IOException {
        watcher.before("delete");
        boolean deleted = DiskStorage.INSTANCE.delete(path);
        if (deleted) {
            change(new Change(path, null, null));
        }
        return deleted;
    }

    @Override
    public void syncDirectory(Path directory) throws IOException {
        watcher.before("fsync directory");
        syncNames(directory);
    }

    private void syncNames(Path directory) {
        for (Iterator<Change> each = changes.iterator(); each.hasNext(); ) {
            Change change = each.next();
            if (change.directory().equals(directory)) {
                change.apply(platterNames);
                each.remove();
            }
        }
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        watcher.before("rename");
        DiskStorage.INSTANCE.rename(from, to);
        change(new Change(from, to, names.get(from)));
    }

    @Override
    public void close() throws IOException {
        for (Inode inode : inodes) {
            if (inode.contents != null) {
                inode.contents.close();
            }
        }
    }

    private final class TrackedFile extends ForwardingFile {
        private final Inode inode;

        TrackedFile(DataFile file, Inode inode) {
            super(file);
            this.inode = inode;
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            watcher.before("write");
            super.write(source, position);
        }

        @Override
        public void zeroFill(long size, int blockSize) throws IOException {
            watcher.before("fill");
            super.zeroFill(size / 2, blockSize);
            watcher.before("fill, second half");
            super.zeroFill(size, blockSize);
        }

        @Override
        public void force() throws IOException {
            watcher.before("fsync");
            LossyDisk.sync(inode, 0, Integer.MAX_VALUE - PAGE);
        }

        @Override
        public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
            watcher.before("fsync part");
            LossyDisk.sync(inode, from, from + length);
        }
    }
}
