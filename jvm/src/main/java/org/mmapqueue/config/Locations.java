package org.mmapqueue.config;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import org.mmapqueue.errors.ConfigException;

/** Directories on any file system, as users write them: a URI such as hdfs://nodes/archive, or a local path. */
public final class Locations {
    private static final String ALLOWED = "the path of a local directory, or a URI such as hdfs://nodes/archive, with a"
            + " scheme and a path, and without a query, a fragment or a password";

    private Locations() {}

    /** Parses a local path or a URI. Throws ConfigException with this key for other texts. */
    public static URI of(String key, String text) {
        String normal = normal(key, text);
        if (normal.isEmpty()) {
            throw new ConfigException(key, text, ALLOWED);
        }
        return URI.create(normal);
    }

    /** Whether a location is a local directory inside {@code directory}, or that directory. */
    static boolean isIn(String normal, Path directory) {
        URI uri = URI.create(normal);
        return "file".equals(uri.getScheme())
                && Path.of(uri).startsWith(directory.toAbsolutePath().normalize());
    }

    /** As {@link #of}, as text without a trailing slash; empty for an empty text. */
    static String normal(String key, String text) {
        try {
            if (text.isEmpty()) {
                return text;
            }
            // A single letter and a colon would be a drive, so a scheme has two letters or more.
            URI uri = text.matches("[A-Za-z][A-Za-z0-9+.-]+:.*")
                    ? new URI(text).normalize()
                    : Path.of(text).toAbsolutePath().normalize().toUri();
            boolean isLocal = "file".equals(uri.getScheme().toLowerCase(Locale.ROOT));
            if (uri.getRawPath() == null
                    || uri.getRawQuery() != null
                    || uri.getRawFragment() != null
                    || uri.getRawUserInfo() != null && uri.getRawUserInfo().contains(":")
                    || isLocal && (!uri.getRawPath().startsWith("/") || uri.getAuthority() != null)) {
                throw new ConfigException(key, text, ALLOWED);
            }
            String normal = isLocal ? "file://" + uri.getRawPath() : uri.toString();
            return normal.endsWith("/") && !normal.endsWith("//") ? normal.substring(0, normal.length() - 1) : normal;
        } catch (URISyntaxException e) {
            throw new ConfigException(key, text, ALLOWED + ": " + e.getReason());
        } catch (InvalidPathException e) {
            throw new ConfigException(key, text, ALLOWED + ": " + e.getReason());
        }
    }
}
