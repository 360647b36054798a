package org.mmapqueue.tool;

import java.io.Console;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.RepairReport;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** The command line of the jar: {@code java -jar mmapqueue.jar verify DIR}. */
public final class Main {
    /** Exit status: no damage was found. */
    public static final int WHOLE = 0;
    /** Exit status: damage was found, or the command failed. */
    public static final int DAMAGED = 1;
    /** Exit status: wrong usage. */
    public static final int USAGE = 2;

    private static final String HELP = """
        usage: mmapqueue verify DIR
               mmapqueue repair DIR --to DIR2 [--reset-clock]
               mmapqueue repair DIR --in-place [--yes] [--reset-clock]
               mmapqueue copy DIR --to DIR2 [--capacity SIZE] [--segment-size SIZE]
               mmapqueue resize DIR --capacity SIZE [--segment-size SIZE]

        verify   reports damage in a queue that no process writes; changes nothing
        repair   repairs a copy of a queue, or the queue itself, and reports the lost records;
                 --reset-clock: sets timestamps that are ahead of this machine's clock to now
        copy     copies a queue that no process has open into a ring of another size
        resize   gives such a queue a ring of another size, in place; SIZE is in bytes, or such as 512m

        exit status: 0 whole, repaired, copied or resized; 1 damage was found, or the command failed; 2 wrong usage
        """;

    private static final Pattern SIZE = Pattern.compile("([1-9][0-9]{0,14})([kmg]?)");

    private final PrintStream out;
    private final PrintStream err;
    private final Console console;

    private Main(PrintStream out, PrintStream err, Console console) {
        this.out = out;
        this.err = err;
        this.console = console;
    }

    /** Runs a command, and ends the process with its exit status. */
    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
        System.exit(new Main(out, err, System.console()).run(List.of(arguments)));
    }

    /**
     * Runs a command without a terminal: it does not ask for confirmation, and shows no progress.
     *
     * @param out receives the report
     * @param err receives errors
     * @return the exit status
     */
    public static int run(List<String> arguments, PrintStream out, PrintStream err) {
        return new Main(out, err, null).run(arguments);
    }

    private int run(List<String> arguments) {
        if (arguments.contains("--help") || arguments.contains("-h")) {
            out.print(HELP);
            return WHOLE;
        }
        List<String> words = new ArrayList<>(arguments);
        String command = words.isEmpty() ? "" : words.remove(0);
        try {
            return switch (command) {
                case "verify" -> verify(words);
                case "repair" -> repair(words);
                case "copy", "resize" -> copy(command, words);
                default -> usage();
            };
        } catch (MmapQueueException e) {
            err.println("mmapqueue: " + e.getMessage());
            return DAMAGED;
        }
    }

    private int usage() {
        err.print(HELP);
        return USAGE;
    }

    // Whether words are the path of a queue alone.
    private static boolean isPath(List<String> words) {
        return words.size() == 1 && !words.get(0).startsWith("-");
    }

    private int verify(List<String> words) {
        if (!isPath(words)) {
            return usage();
        }
        VerifyReport report = Verifier.verify(Path.of(words.get(0)), bar());
        out.print(Text.of(report));
        return report.isWhole() ? WHOLE : DAMAGED;
    }

    private int repair(List<String> words) {
        boolean inPlace = words.remove("--in-place");
        boolean yes = words.remove("--yes");
        boolean resetClock = words.remove("--reset-clock");
        String target = option(words, "--to");
        if (!isPath(words) || inPlace == (target != null) || yes && !inPlace) {
            return usage();
        }
        Path directory = Path.of(words.get(0));
        if (inPlace && !yes && !confirmed(directory)) {
            err.println("mmapqueue: nothing was changed");
            return USAGE;
        }
        RepairReport report = inPlace
                ? Repairer.repairInPlace(directory, resetClock, bar())
                : Repairer.repair(directory, Path.of(target), resetClock, bar());
        out.print(Text.of(report));
        return WHOLE;
    }

    private int copy(String command, List<String> words) {
        String target = option(words, "--to");
        long capacity = size(option(words, "--capacity"));
        long segmentSize = size(option(words, "--segment-size"));
        boolean isCopy = command.equals("copy");
        if (!isPath(words)
                || isCopy != (target != null)
                || capacity < 0
                || segmentSize < 0
                || !isCopy && capacity == 0) {
            return usage();
        }
        Path directory = Path.of(words.get(0));
        RingSize size = new RingSize(capacity, segmentSize);
        out.print(Text.of(
                isCopy ? Copier.copy(directory, Path.of(target), size, bar()) : Copier.resize(directory, size, bar())));
        return WHOLE;
    }

    // Removes an option and its value, and returns the value; null without the option.
    private static String option(List<String> words, String name) {
        int at = words.indexOf(name);
        if (at < 0 || at + 1 == words.size()) {
            return null;
        }
        String value = words.remove(at + 1);
        words.remove(at);
        return value;
    }

    // Bytes of a size; 0 for an absent option, -1 for an invalid text.
    private static long size(String text) {
        if (text == null) {
            return 0;
        }
        Matcher parts = SIZE.matcher(text.toLowerCase(Locale.ROOT));
        if (!parts.matches()) {
            return -1;
        }
        int unit = parts.group(2).isEmpty() ? 0 : 1 + "kmg".indexOf(parts.group(2));
        return Math.max(-1, Long.parseLong(parts.group(1)) << 10 * unit);
    }

    private boolean confirmed(Path directory) {
        if (console == null) {
            err.println("mmapqueue: --in-place changes " + directory
                    + " permanently, and there is no terminal to ask at:" + " add --yes");
            return false;
        }
        String answer = console.readLine("Change %s permanently, without a copy? [y/N] ", directory);
        return answer != null && answer.strip().toLowerCase(Locale.ROOT).startsWith("y");
    }

    // A progress bar on a terminal, otherwise none.
    private Progress bar() {
        return console == null ? Progress.NONE : new Bar(err);
    }
}
