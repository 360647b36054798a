package org.mmapqueue.errors;

import java.util.Optional;

/** A configuration value is invalid. Nothing was created or changed. */
public final class ConfigException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    private static final String REFERENCE = "docs/reference/configuration.md";

    private final String key;
    private final String value;
    private final String allowed;

    /**
     * Makes the exception.
     *
     * @param key the configuration key, as in docs/reference/configuration.md
     * @param value the value that was given
     * @param allowed what would be allowed
     */
    public ConfigException(String key, String value, String allowed) {
        this(key, value, allowed, key + " = " + value + " is invalid; allowed: " + allowed);
    }

    private ConfigException(String key, String value, String allowed, String message) {
        super(message);
        this.key = key;
        this.value = value;
        this.allowed = allowed;
    }

    /**
     * The error of a key that does not exist.
     *
     * @param key the key that was given
     * @param value its value
     * @param similar the key that may have been meant
     * @return the exception
     */
    public static ConfigException unknownKey(String key, String value, Optional<String> similar) {
        String hint = similar.map(each -> " (did you mean " + each + "?)").orElse("");
        String message = key + ": unknown key" + hint + "; " + REFERENCE + " lists the keys";
        return new ConfigException(key, value, "a key of " + REFERENCE, message);
    }

    /** {@return the configuration key} */
    public String key() {
        return key;
    }

    /** {@return the invalid value} */
    public String value() {
        return value;
    }

    /** {@return what would be allowed} */
    public String allowed() {
        return allowed;
    }
}
