package org.mmapqueue.soak;

import static org.mmapqueue.soak.RaceRecords.require;

import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.ChildJvm;

/**
 * Kills a {@link Victim} after some of its lines, then looks: the consumer is there or not, as the victim's last words
 * demand, and stands no earlier than what the victim has acked; nobody is locked out; the writer goes on. Two victims
 * live at a time, with a consumer each. Half of the consumers are taken over by the next victim, half by this process.
 */
final class Killing {
    private static final int VICTIMS = 2;
    private static final long ANY = -1;

    private final Path directory;
    private final RaceWriter writer;
    private final RaceTally tally;
    private final SplittableRandom random;
    private final ChildJvm[] victims = new ChildJvm[VICTIMS];
    private final LastWords[] words = new LastWords[VICTIMS];

    /** What the victims' lines say of a consumer. */
    private static final class LastWords {
        private boolean mayBeThere;
        private boolean mayBeGone = true;
        /** It stands there, or further when acks are allowed to be unheard of. */
        private long committed = ANY;

        private String fault;

        void hear(String line) {
            String[] parts = line.split(" ", 2);
            switch (parts[0]) {
                case "take" -> mayBeThere = true;
                case "has", "acked" -> {
                    long found = Long.parseLong(parts[1]);
                    if (parts[0].equals("has") && found < committed) {
                        fault = "acked up to " + committed + ", but the next one has it at " + found;
                    }
                    committed = found;
                    mayBeThere = true;
                    mayBeGone = false;
                }
                case "moves" -> committed = ANY;
                case "deletes" -> {
                    committed = ANY;
                    mayBeGone = true;
                }
                case "deleted" -> mayBeThere = false;
                default -> {
                    fault = line;
                    committed = ANY;
                    mayBeGone = true;
                }
            }
        }
    }

    Killing(Path directory, long seed, RaceWriter writer, RaceTally tally) {
        this.directory = directory;
        this.writer = writer;
        this.tally = tally;
        this.random = new SplittableRandom(seed);
    }

    private static String name(int victim) {
        return "victim-" + victim;
    }

    void run(int kills) throws IOException, InterruptedException {
        for (int i = 0; i < VICTIMS; i++) {
            words[i] = new LastWords();
            victims[i] = victim(i);
        }
        for (int kill = 0; kill < kills; kill++) {
            int victim = kill % VICTIMS;
            kill(victim);
            boolean last = kill + VICTIMS >= kills;
            if (last || random.nextBoolean()) {
                look(victim);
                words[victim] = new LastWords();
            }
            if (!last) {
                victims[victim] = victim(victim);
            }
        }
    }

    private ChildJvm victim(int number) throws IOException {
        return new ChildJvm(Victim.class, directory, name(number), random.nextLong());
    }

    private void kill(int number) throws IOException, InterruptedException {
        LastWords heard = words[number];
        try (ChildJvm victim = victims[number]) {
            String line = victim.line();
            for (int left = random.nextInt(80); left > 0 && line != null; left--) {
                heard.hear(line);
                line = victim.line();
            }
            victim.kill();
            for (; line != null; line = victim.line()) {
                heard.hear(line);
            }
        }
        tally.count("killed");
        if (heard.fault != null) {
            tally.fault(name(number), new IllegalStateException(heard.fault));
            heard.fault = null;
        }
    }

    private void look(int number) throws InterruptedException {
        LastWords heard = words[number];
        String name = name(number);
        MmapQueue queue = writer.queue();
        try {
            // One that was killed when its page was there, and not counted yet, shows with the next change.
            queue.consumer("looking", StartAt.LATEST);
            queue.deleteConsumer("looking");
            boolean there = queue.consumers().contains(name);
            require(there || heard.mayBeGone, name + " is gone");
            require(!there || heard.mayBeThere, name + " is there, though it was deleted");
            if (there) {
                Consumer consumer = queue.consumer(name, StartAt.LATEST);
                require(
                        consumer.committedOffset() >= heard.committed,
                        "acked up to " + heard.committed + ", but it stands at " + consumer.committedOffset());
                long next = consumer.readOffset();
                long end = queue.endOffset() + RaceRecords.LAP;
                while (next < end) {
                    Message message = consumer.pop(RaceWriter.PATIENCE);
                    RaceRecords.check(message, next++);
                    consumer.ack(message.offset());
                }
                tally.count("taken over by the writer's process");
            } else {
                tally.count("found deleted");
            }
            if (there || queue.consumers().contains(name)) {
                queue.deleteConsumer(name);
            }
        } catch (RuntimeException e) {
            tally.fault(name, e);
        }
    }
}
