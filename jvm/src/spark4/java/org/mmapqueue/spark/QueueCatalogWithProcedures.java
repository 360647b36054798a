package org.mmapqueue.spark;

import java.util.Arrays;
import java.util.Locale;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;

/**
 * A {@link QueueCatalog} with procedures, from Spark 4.0 on: {@code CALL q.system.seek(table => 'events', consumer =>
 * 'reports', to => 'earliest')}. {@link Procedures} lists them.
 */
public final class QueueCatalogWithProcedures extends QueueCatalog implements ProcedureCatalog {
    private static final String NAMESPACE = "system";

    /** Called by Spark, by reflection; {@link #initialize} follows. */
    public QueueCatalogWithProcedures() {}

    @Override
    public UnboundProcedure loadProcedure(Identifier procedure) {
        String name = procedure.name().toLowerCase(Locale.ROOT);
        if (isSystem(procedure.namespace())) {
            for (Procedures each : Procedures.values()) {
                if (each.sqlName().equals(name)) {
                    return new QueueProcedure(this, each);
                }
            }
        }
        throw new IllegalArgumentException("there is no procedure " + procedure + "; catalog " + name() + " has: "
                + String.join(
                        ", ",
                        Arrays.stream(Procedures.values())
                                .map(each -> NAMESPACE + "." + each.sqlName())
                                .toArray(String[]::new)));
    }

    /**
     * The procedures of a namespace; Spark asks for them from 4.1 on, so this overrides nothing in 4.0.
     *
     * @param namespace system, or none for all
     * @return their identifiers
     */
    @Override
    public Identifier[] listProcedures(String[] namespace) {
        if (namespace.length > 0 && !isSystem(namespace)) {
            return new Identifier[0];
        }
        return Arrays.stream(Procedures.values())
                .map(each -> Identifier.of(new String[] {NAMESPACE}, each.sqlName()))
                .toArray(Identifier[]::new);
    }

    private static boolean isSystem(String[] namespace) {
        return namespace.length == 1 && namespace[0].equalsIgnoreCase(NAMESPACE);
    }
}
