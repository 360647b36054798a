package org.mmapqueue.tool.verify;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ProducerPage;

/** The pages of idempotent producers. They contain no positions, so a copy of the queue gets them unchanged. */
public final class ProducerPages {
    private final Storage storage;
    private final List<Path> whole = new ArrayList<>();
    private final List<Path> damaged = new ArrayList<>();

    /** Checks the pages, and adds findings for damaged ones. */
    ProducerPages(Storage storage, Survey survey) throws IOException {
        this.storage = storage;
        for (Path page : survey.inventory.producers) {
            try {
                ProducerPage.lastBatch(storage, page, survey.facts, () -> Long.MAX_VALUE);
                whole.add(page);
            } catch (CorruptException e) {
                survey.corrupt(page, e.position(), e.detail());
                damaged.add(page);
            }
        }
    }

    public List<Path> damaged() {
        return damaged;
    }

    /** Copies the intact pages into the directory of another queue, and fsyncs them. */
    public void copyTo(Path queue) throws IOException {
        if (whole.isEmpty()) {
            return;
        }
        Path copies = queue.resolve(ProducerPage.DIRECTORY);
        storage.createDirectories(copies);
        for (Path page : whole) {
            try (DataFile file = storage.open(copies.resolve(page.getFileName()), Storage.Mode.CREATE)) {
                file.write(InFlightCheck.read(storage, page), 0);
                file.force();
            }
        }
        storage.syncDirectory(copies);
    }
}
