package org.mmapqueue.archive;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RunName;

/**
 * The merged runs of one partition that may still appear: an object store may store a run long after its process has
 * taken the request for failed, or was killed. A run that is made of some of the same runs would overlap it. So each
 * merge is noted before, by a file {@code .tmp/merge-<partition>-<run>}, and repeated before any other one, by any
 * process, until it is stored. Other file systems need no notes. Not thread-safe.
 */
final class UnfinishedMerges {
    private final ArchiveFiles files;
    private final String prefix;
    /** Null until they are listed. */
    private @Nullable Set<RunName> runs;

    /** Lists nothing yet. */
    UnfinishedMerges(ArchiveFiles files, int partition) {
        this.files = files;
        this.prefix = String.format(Locale.ROOT, "merge-%05d-", partition);
    }

    /** The runs. */
    List<RunName> all() throws IOException {
        return List.copyOf(noted());
    }

    private Set<RunName> noted() throws IOException {
        Set<RunName> known = runs;
        if (known == null) {
            known = new LinkedHashSet<>();
            if (files.createsLate()) {
                for (String name : files.names(ArchiveFiles.TEMPORARY)) {
                    if (name.startsWith(prefix)) {
                        RunName.parse(name.substring(prefix.length())).ifPresent(known::add);
                    }
                }
            }
            runs = known;
        }
        return known;
    }

    /** Notes a run before it is stored. */
    void begin(RunName run) throws IOException {
        if (files.createsLate() && !noted().contains(run)) {
            files.replace(file(run), new byte[0]);
            noted().add(run);
        }
    }

    /** Forgets a run that is stored, or cannot be any more. */
    void end(RunName run) throws IOException {
        if (noted().remove(run)) {
            files.delete(file(run));
        }
    }

    private String file(RunName run) {
        return ArchiveFiles.TEMPORARY + "/" + prefix + run;
    }
}
