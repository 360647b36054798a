package org.mmapqueue.archive.files;

import java.util.UUID;

/** Names of unfinished files below {@link ArchiveFiles#TEMPORARY}: the file's name with its parts joined, and an id. */
public final class TemporaryNames {
    private TemporaryNames() {}

    /** The last part of the name of an unfinished file. */
    public static String of(String name, UUID id) {
        return beginning(name) + "." + id;
    }

    /** The common prefix of the names of all unfinished files below a directory. */
    public static String beginning(String name) {
        return name.replace('/', '-');
    }
}
