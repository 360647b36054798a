package org.mmapqueue.archive.owner;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.ArchiveText;

/** The files {@code owners/<partition>/<epoch>.properties}: the claims of one partition. Not thread-safe. */
public final class ClaimFiles {
    private static final String DIRECTORY = "owners";
    private static final Pattern NAME = Pattern.compile("([0-9]{10})\\.properties");
    private static final int ATTEMPTS = 10;

    private final ArchiveFiles files;
    private final String directory;

    /** The file of the newest claim that says where its shipper begins, and what it says. */
    private ArchiveFiles.@Nullable Entry fencesFile;

    private Fences fences = Fences.NONE;

    /** The claims of a partition; reads nothing yet. */
    public ClaimFiles(ArchiveFiles files, int partition) {
        this.files = files;
        this.directory = directory(partition);
    }

    /** The directory of the claims of a partition. */
    public static String directory(int partition) {
        return String.format(Locale.ROOT, "%s/%05d", DIRECTORY, partition);
    }

    /** The numbers of partitions that are claimed or reserved, in no order. */
    public static List<Integer> partitions(ArchiveFiles files) throws IOException {
        List<Integer> numbers = new ArrayList<>();
        for (String name : files.directories(DIRECTORY)) {
            if (name.matches("[0-9]{5,9}")) {
                numbers.add(Integer.parseInt(name));
            }
        }
        return numbers;
    }

    /** A file, and the epoch in its name. */
    record Listed(long epoch, ArchiveFiles.Entry file) {}

    /** The files, the newest first. */
    List<Listed> list() throws IOException {
        List<Listed> found = new ArrayList<>();
        for (ArchiveFiles.Entry each : files.list(directory)) {
            Matcher name = NAME.matcher(each.name());
            if (name.matches()) {
                found.add(new Listed(Long.parseLong(name.group(1)), each));
            }
        }
        Collections.reverse(found);
        return found;
    }

    /**
     * The newest claim; empty if there is none.
     *
     * @throws org.mmapqueue.errors.ArchiveException if its file is damaged
     */
    public Optional<Claim> newest() throws IOException {
        for (int attempt = 1; ; attempt++) {
            List<Listed> listed = list();
            if (listed.isEmpty()) {
                return Optional.empty();
            }
            Optional<Claim> claim = read(listed.get(0));
            if (claim.isPresent() || attempt == ATTEMPTS) {
                return claim; // otherwise it was deleted since it was listed
            }
        }
    }

    Optional<Claim> read(Listed listed) throws IOException {
        return ArchiveText.read(files, file(listed.epoch())).map(text -> Claim.read(listed.epoch(), text));
    }

    /**
     * Where shippers have begun, as of now. A file is read only if it is new.
     *
     * @throws org.mmapqueue.errors.ArchiveException if a file is damaged
     */
    public Fences fences() throws IOException {
        boolean wasComplete = false;
        for (int attempt = 1; attempt <= ATTEMPTS && !wasComplete; attempt++) {
            wasComplete = readFences();
        }
        return fences;
    }

    // Returns false if a file was deleted since it was listed: then a newer one says where its shipper begins.
    private boolean readFences() throws IOException {
        for (Listed each : list()) {
            if (each.file().equals(fencesFile)) {
                return true;
            }
            Optional<Claim> claim = read(each);
            if (claim.isEmpty()) {
                return false;
            }
            Fences found = claim.get().fences();
            if (found != null) {
                fencesFile = each.file();
                fences = found;
                return true;
            }
        }
        return true; // none, or all were deleted by hand: those that are known stay valid
    }

    /** Stores a claim; returns false if its epoch is taken. */
    boolean create(Claim claim) throws IOException {
        byte[] content = claim.content();
        return files.create(file(claim.epoch()), out -> out.write(content));
    }

    /** Replaces a claim of this process. */
    void replace(Claim claim) throws IOException {
        files.replace(file(claim.epoch()), claim.content());
    }

    /** Deletes the claims before an epoch. */
    void deleteBefore(long epoch) throws IOException {
        for (Listed each : list()) {
            if (each.epoch() < epoch) {
                files.delete(file(each.epoch()));
            }
        }
    }

    String file(long epoch) {
        return String.format(Locale.ROOT, "%s/%010d.properties", directory, epoch);
    }
}
