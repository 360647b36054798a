package org.mmapqueue.errors;

/** A configuration value is invalid. Nothing was created or changed. */
public final class ConfigException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

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
        super(key + " = " + value + " is invalid; allowed: " + allowed);
        this.key = key;
        this.value = value;
        this.allowed = allowed;
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
