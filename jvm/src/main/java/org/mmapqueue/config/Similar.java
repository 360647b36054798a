package org.mmapqueue.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Suggests a name for a misspelt one. */
public final class Similar {
    /** Number of letters for each allowed edit. */
    private static final int LETTERS_PER_EDIT = 4;

    private Similar() {}

    /**
     * Finds the name with the least edit distance, ignoring case and underscores.
     *
     * @return the name; empty if none is similar
     */
    public static Optional<String> to(String name, Collection<String> names) {
        String plain = plain(name);
        return names.stream()
                .filter(each -> distance(plain, plain(each)) <= Math.max(1, plain.length() / LETTERS_PER_EDIT))
                .min(Comparator.comparingInt((String each) -> distance(plain, plain(each)))
                        .thenComparing(Comparator.naturalOrder()));
    }

    private static String plain(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }

    // Levenshtein distance.
    private static int distance(String one, String two) {
        int[] before = new int[two.length() + 1];
        for (int j = 0; j < before.length; j++) {
            before[j] = j;
        }
        for (int i = 1; i <= one.length(); i++) {
            int[] row = new int[before.length];
            row[0] = i;
            for (int j = 1; j < row.length; j++) {
                int replaced = before[j - 1] + (one.charAt(i - 1) == two.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, Math.min(before[j], row[j - 1]) + 1);
            }
            before = row;
        }
        return before[two.length()];
    }
}
