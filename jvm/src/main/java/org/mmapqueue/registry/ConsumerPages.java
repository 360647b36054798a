package org.mmapqueue.registry;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;

/** The pages of named consumers: which files exist, and which pages are open. The monitor of the registry guards it. */
final class ConsumerPages implements Closeable {
    private final Storage storage;
    private final Path directory;
    private final MetaPage meta;
    private final Map<String, ConsumerPage> pages = new HashMap<>();

    ConsumerPages(Storage storage, Path directory, MetaPage meta) {
        this.storage = storage;
        this.directory = directory;
        this.meta = meta;
    }

    /** The path of a page's file. Any thread. */
    Path path(String name) {
        return directory.resolve(name + ConsumerPage.SUFFIX);
    }

    /** The names of all pages in the directory, in alphabetical order. */
    Set<String> stored() throws IOException {
        return storage.list(directory, ConsumerPage.SUFFIX).keySet();
    }

    /**
     * The page of a consumer; opens it if necessary.
     *
     * @throws java.nio.file.NoSuchFileException when the directory has no such page
     */
    ConsumerPage get(String name) throws IOException {
        ConsumerPage page = pages.get(name);
        if (page == null || !page.isStillAt(storage, path(name))) {
            forget(name);
            page = ConsumerPage.open(storage, path(name), meta.fields());
            pages.put(name, page);
        }
        return page;
    }

    /** Closes a page. */
    void forget(String name) throws IOException {
        ConsumerPage page = pages.remove(name);
        if (page != null) {
            page.close();
        }
    }

    /** Closes the pages of all consumers that are not in {@code names}. */
    void retain(Set<String> names) throws IOException {
        for (String name : List.copyOf(pages.keySet())) {
            if (!names.contains(name)) {
                forget(name);
            }
        }
    }

    @Override
    public void close() throws IOException {
        Closing.all(pages.values().toArray(new Closeable[0]));
        pages.clear();
    }
}
