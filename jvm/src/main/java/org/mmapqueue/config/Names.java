package org.mmapqueue.config;

import java.util.Objects;
import java.util.regex.Pattern;
import org.mmapqueue.errors.ConfigException;

/** The rule for names of consumers and producers, which become names of files. */
public final class Names {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,99}");

    private Names() {}

    /**
     * Checks a name.
     *
     * @param what the kind of thing that is named, as the key of the exception
     * @throws ConfigException when the name is not allowed
     */
    public static void check(String what, String name) {
        if (!NAME.matcher(Objects.requireNonNull(name, what)).matches()) {
            throw new ConfigException(what, name, "1 to 100 letters, digits, '_', '-' or '.', no '.' or '-' first");
        }
    }
}
