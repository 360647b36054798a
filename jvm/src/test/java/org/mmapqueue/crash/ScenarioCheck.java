package org.mmapqueue.crash;

import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.harness.Violation;

/** Checks the directories that interrupted {@link Scenario}s have left. */
final class ScenarioCheck {
    private final Path temp;
    private final CrashTable table;

    /**
     * What an interruption has left.
     *
     * @param process identifies the process in the model
     * @param events the journal until then
     */
    record Left(Path directory, int process, List<Event> events) {
        @Override
        public String toString() {
            return "after " + (events.isEmpty() ? "nothing" : events.get(events.size() - 1));
        }
    }

    ScenarioCheck(Path temp, CrashTable table) {
        this.temp = temp;
        this.table = table;
    }

    /** Checks what consecutive interruptions have left, each one the start of the next. */
    void check(String group, String where, Left... interruptions) throws InterruptedException {
        table.add(group, CrashTable.Count.ROUNDS, 1);
        try {
            Model model = new Model(Scenario.plan());
            for (Left left : interruptions) {
                left.events.forEach(event -> model.apply(left.process, true, event));
                Verifier.checkCopy(Scenario.plan(), left.directory, temp.resolve("checked"), model);
            }
        } catch (Violation | MmapQueueException | IllegalStateException e) {
            table.failed(group, where + ", " + interruptions[interruptions.length - 1] + ": " + e);
        }
    }
}
