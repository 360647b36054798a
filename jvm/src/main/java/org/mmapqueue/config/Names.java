package org.mmapqueue.config;

import java.util.regex.Pattern;
import org.mmapqueue.errors.ConfigException;

/** What consumers and producers may be called: it becomes the name of a file. */
public final class Names {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,99}");

    private Names() {}

    /**
     * Refuses other names.
     *
     * @param what whose name it is, as the error says it
     * @throws ConfigException when it is not allowed
     */
    public static void check(String what, String name) {
        if (!NAME.matcher(name).matches()) {
            throw new ConfigException(what, name, "1 to 100 letters, digits, '_', '-' or '.', no '.' or '-' first");
        }
    }
}
