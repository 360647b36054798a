package org.mmapqueue.spark;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.StartAt;
import org.mmapqueue.spark.common.Options;

/** A procedure of a catalog. Immutable. */
final class QueueProcedure implements UnboundProcedure {
    private final QueueCatalog catalog;
    private final Procedures procedure;

    /** Makes a procedure. */
    QueueProcedure(QueueCatalog catalog, Procedures procedure) {
        this.catalog = catalog;
        this.procedure = procedure;
    }

    @Override
    public String name() {
        return procedure.sqlName();
    }

    @Override
    public String description() {
        return procedure.description();
    }

    /** Parameter types depend on the arguments: a start position is a number, a time or a word. */
    @Override
    public BoundProcedure bind(StructType arguments) {
        DataType[] types = new DataType[procedure.parameters().size()];
        for (int i = 0; i < types.length; i++) {
            Procedures.Parameter each = procedure.parameters().get(i);
            types[i] = each.type() == null ? StartArgument.type(given(arguments, each.name(), i)) : each.type();
        }
        return new Bound(types);
    }

    private static DataType given(StructType arguments, String name, int index) {
        for (StructField each : arguments.fields()) {
            if (each.metadata().contains(ProcedureParameter.BY_NAME_METADATA_KEY)
                    && each.name().equalsIgnoreCase(name)) {
                return each.dataType();
            }
        }
        boolean byPosition = index < arguments.length()
                && !arguments.fields()[index].metadata().contains(ProcedureParameter.BY_NAME_METADATA_KEY);
        return byPosition ? arguments.fields()[index].dataType() : DataTypes.StringType;
    }

    private final class Bound implements BoundProcedure {
        private final DataType[] types;

        Bound(DataType[] types) {
            this.types = types;
        }

        @Override
        public String name() {
            return procedure.sqlName();
        }

        @Override
        public String description() {
            return procedure.description();
        }

        @Override
        public ProcedureParameter[] parameters() {
            ProcedureParameter[] parameters = new ProcedureParameter[types.length];
            for (int i = 0; i < types.length; i++) {
                Procedures.Parameter each = procedure.parameters().get(i);
                ProcedureParameter.Builder builder = ProcedureParameter.in(each.name(), types[i]);
                parameters[i] = (each.missing() == null ? builder : builder.defaultValue(each.missing())).build();
            }
            return parameters;
        }

        @Override
        public boolean isDeterministic() {
            return false;
        }

        @Override
        public Iterator<Scan> call(InternalRow row) {
            Scan result = new Rows(procedure.columns(), SqlStatement.run(name(), () -> run(row)));
            return List.of(result).iterator();
        }

        private List<Object[]> run(InternalRow row) {
            QueueAdmin admin = catalog.admin(text(row, 0));
            return switch (procedure) {
                case ACK_UP_TO -> admin.ackUpTo(text(row, 1), offset(row, 2), partition(row, 3));
                case SEEK -> admin.seek(text(row, 1), StartArgument.of("to", row, 2, types[2]), partition(row, 3));
                case GC -> admin.gc();
                case VERIFY -> admin.verify();
                case CONSUMERS -> admin.consumers();
                case CREATE_CONSUMER ->
                    admin.create(
                            text(row, 1),
                            row.isNullAt(2) ? StartAt.EARLIEST : StartArgument.of("start", row, 2, types[2]),
                            partition(row, 3));
                case DELETE_CONSUMER -> admin.delete(text(row, 1), partition(row, 2));
                case DROP_ORPHANED_CONSUMERS -> admin.dropOrphans(!row.isNullAt(1) && row.getBoolean(1));
            };
        }

        private String text(InternalRow row, int index) {
            if (row.isNullAt(index)) {
                throw Options.bad(procedure.parameters().get(index).name(), "NULL", "a name");
            }
            return row.get(index, DataTypes.StringType).toString();
        }

        private long offset(InternalRow row, int index) {
            if (row.isNullAt(index) || row.getLong(index) < 0) {
                throw Options.bad(
                        procedure.parameters().get(index).name(),
                        row.isNullAt(index) ? "NULL" : Long.toString(row.getLong(index)),
                        "an offset of at least 0");
            }
            return row.getLong(index);
        }

        private Integer partition(InternalRow row, int index) {
            return row.isNullAt(index) ? null : row.getInt(index);
        }
    }

    /** A scan of computed rows. */
    private static final class Rows implements LocalScan {
        private final StructType columns;
        private final InternalRow[] rows;

        Rows(StructType columns, List<Object[]> values) {
            this.columns = columns;
            this.rows = values.stream().map(Rows::row).toArray(InternalRow[]::new);
        }

        private static InternalRow row(Object[] values) {
            return new GenericInternalRow(Arrays.stream(values)
                    .map(CatalystTypeConverters::convertToCatalyst)
                    .toArray());
        }

        @Override
        public InternalRow[] rows() {
            return rows;
        }

        @Override
        public StructType readSchema() {
            return columns;
        }
    }
}
