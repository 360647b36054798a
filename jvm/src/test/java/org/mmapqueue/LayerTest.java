package org.mmapqueue;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.Source;
import com.tngtech.archunit.core.domain.ThrowsDeclaration;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The table of packages: what each may use, and how many files it has at most. Arrows never run up, and the outside is
 * the JDK and slf4j. The face, {@code org.mmapqueue} itself, has two layers: value types at the bottom, entry points at
 * the top.
 */
class LayerTest {
    private static final String ROOT = "org.mmapqueue";
    private static final int MOST_FILES = 25;

    /** Types of the face that every package may use; of the others they use metrics alone. */
    private static final Set<String> VALUES = Set.of(
            "BatchDigest",
            "BufferRecords",
            "ConsumerStats",
            "DamagedRange",
            "HeapRecords",
            "Message",
            "MessageHandler",
            "OffsetRange",
            "ProducerStats",
            "QueueListener",
            "QueueStats",
            "RecordSink",
            "Records",
            "ShipStats",
            "StartAt",
            "StoredRecord",
            "StoredRecordSink");

    /** The entry points of the face and what they may use besides the values: every room of the core. */
    private static final String FACE = "";

    /** Bottom to top: each package and what it may use besides itself. "values" are the value types of the face. */
    private static final Map<String, List<String>> LAYERS = layersFromTheBottom(
            room("errors"),
            room("json"),
            room("metrics"),
            room("values", "metrics"),
            room("io", "errors"),
            room("meta", "io", "errors"),
            room("segment", "io", "errors"),
            room("swap", "segment", "io", "errors"),
            room("flush", "segment", "meta", "io", "errors"),
            room("concurrent", "io"),
            room("config", "concurrent", "segment", "meta", "io", "errors"),
            room("log", "values", "swap", "segment", "meta", "io", "errors"),
            room("append", "values", "log", "config", "concurrent", "flush", "swap", "segment", "meta", "io", "errors"),
            room("recovery", "log", "config", "swap", "segment", "meta", "io", "errors"),
            room("registry", "values", "recovery", "config", "flush", "meta", "io", "errors"),
            room("lookup", "values", "registry", "log", "config", "swap", "segment", "meta", "io", "errors"),
            room(
                    "write",
                    "values",
                    "lookup",
                    "registry",
                    "append",
                    "log",
                    "config",
                    "concurrent",
                    "flush",
                    "swap",
                    "segment",
                    "meta",
                    "metrics",
                    "io",
                    "errors"),
            room(
                    "consume",
                    "values",
                    "lookup",
                    "registry",
                    "log",
                    "config",
                    "concurrent",
                    "segment",
                    "meta",
                    "metrics",
                    "io",
                    "errors"),
            room("async", "values", "write", "io", "errors"),
            room("jmx", "values", "metrics"),
            room("archive.files", "io", "errors"),
            room("archive.hadoop", "archive.files", "errors"),
            room("archive.run", "values", "archive.files", "segment", "io", "errors"),
            room("archive.owner", "archive.run", "archive.files", "meta", "errors"),
            room(
                    "archive",
                    "values",
                    "archive.owner",
                    "archive.run",
                    "archive.files",
                    "log",
                    "config",
                    "concurrent",
                    "meta",
                    "io",
                    "errors"),
            room(
                    "core",
                    "values",
                    "archive",
                    "archive.owner",
                    "archive.run",
                    "archive.files",
                    "jmx",
                    "metrics",
                    "consume",
                    "write",
                    "lookup",
                    "registry",
                    "recovery",
                    "log",
                    "config",
                    "concurrent",
                    "swap",
                    "segment",
                    "meta",
                    "io",
                    "errors"),
            room(
                    FACE,
                    "values",
                    "metrics",
                    "core",
                    "async",
                    "consume",
                    "write",
                    "lookup",
                    "registry",
                    "recovery",
                    "log",
                    "config",
                    "io",
                    "errors"),
            room(
                    "bridge",
                    "json",
                    "values",
                    "metrics",
                    FACE,
                    "write",
                    "archive",
                    "archive.owner",
                    "archive.run",
                    "archive.files",
                    "config",
                    "errors"),
            room("bigqueue", "values", FACE, "errors"),
            room("typed", "values", FACE),
            room("tool.report"),
            room("tool.scan", "tool.report", "segment", "meta", "io", "errors"),
            room("tool.verify", "tool.scan", "tool.report", "recovery", "segment", "meta", "io", "errors"),
            room("tool.copy", "tool.verify", "tool.scan", "tool.report", "recovery", "segment", "meta", "io", "errors"),
            room(
                    "tool.repair",
                    "tool.verify",
                    "tool.scan",
                    "tool.report",
                    "recovery",
                    "segment",
                    "meta",
                    "io",
                    "errors"),
            room("tool", "json", "tool.repair", "tool.copy", "tool.verify", "tool.report", "errors"),
            room("spark.common", FACE, "config"),
            room("spark.read.pushdown", "spark.common"),
            room(
                    "spark.source",
                    "values",
                    FACE,
                    "spark.common",
                    "archive",
                    "archive.run",
                    "archive.files",
                    "archive.hadoop",
                    "config",
                    "errors"),
            room("spark.read.plan", "values", "spark.source", "spark.read.pushdown", "spark.common", "errors"),
            room(
                    "spark.read.task",
                    "values",
                    "spark.read.plan",
                    "spark.read.pushdown",
                    "spark.source",
                    "spark.common",
                    "errors"),
            room(
                    "spark.read.stream",
                    "values",
                    "metrics",
                    FACE,
                    "spark.read.task",
                    "spark.read.plan",
                    "spark.source",
                    "spark.common",
                    "archive",
                    "errors"),
            room(
                    "spark.read",
                    "spark.read.stream",
                    "spark.read.task",
                    "spark.read.plan",
                    "spark.read.pushdown",
                    "spark.source",
                    "spark.common"),
            room(
                    "spark.work",
                    "values",
                    FACE,
                    "spark.read.task",
                    "spark.read.plan",
                    "spark.source",
                    "spark.common",
                    "errors"),
            room("spark.write.staging", "values", "io", "errors"),
            room(
                    "spark.write.sink",
                    "values",
                    FACE,
                    "config",
                    "write",
                    "spark.write.staging",
                    "spark.common",
                    "io",
                    "errors"),
            room("spark.write", "spark.write.sink", "spark.write.staging", "spark.common", "io", "errors"),
            room(
                    "spark",
                    "values",
                    "metrics",
                    FACE,
                    "spark.write",
                    "spark.write.sink",
                    "spark.read",
                    "spark.source",
                    "spark.common",
                    "errors"),
            room("spark.events.wire"),
            room("spark.events.rows"),
            room("spark.events.skywalking", "spark.events.rows", "spark.events.wire"),
            room("spark.events.otlp", "spark.events.skywalking", "spark.events.rows", "spark.events.wire"),
            room("spark.events.envelope", "spark.events.otlp", "spark.events.skywalking", "spark.events.wire"),
            room(
                    "spark.events.payload",
                    "spark.events.envelope",
                    "spark.events.otlp",
                    "spark.events.skywalking",
                    "spark.events.rows",
                    "spark.events.wire"),
            room(
                    "spark.events",
                    "spark.events.payload",
                    "spark.events.envelope",
                    "spark.events.otlp",
                    "spark.events.skywalking",
                    "spark.events.rows",
                    "spark.events.wire"));

    private record Room(String name, List<String> below) {}

    private static Room room(String name, String... below) {
        return new Room(name, List.of(below));
    }

    // A package may name only those listed before it: so the table itself has no cycle.
    private static Map<String, List<String>> layersFromTheBottom(Room... rooms) {
        Map<String, List<String>> layers = new LinkedHashMap<>();
        for (Room room : rooms) {
            if (!layers.keySet().containsAll(room.below())) {
                throw new IllegalArgumentException(room + " names a package that does not stand below it");
            }
            layers.put(room.name(), room.below());
        }
        return layers;
    }

    private static final List<String> PLATFORM =
            List.of("java..", "javax..", "jdk..", "sun.misc..", "org.slf4j..", "org.jspecify..");

    /** What Spark's own interfaces are made of. */
    private static final List<String> SPARK = List.of(
            "org.apache.spark..",
            "scala..",
            "org.apache.hadoop..",
            "com.fasterxml.jackson..",
            "com.codahale.metrics..");

    /** What single packages use where it exists. */
    private static final Map<String, List<String>> BROUGHT =
            Map.of("archive.hadoop", List.of("org.apache.hadoop.."), "archive.run", List.of("com.github.luben.zstd.."));

    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("org.mmapqueue");

    static Stream<String> layers() {
        return LAYERS.keySet().stream();
    }

    @ParameterizedTest(name = "\"{0}\"")
    @MethodSource("layers")
    void usesOnlyWhatIsBelow(String layer) {
        DescribedPredicate<JavaClass> known =
                resideInAnyPackage(PLATFORM.toArray(String[]::new)).or(in(layer));
        for (String below : LAYERS.get(layer)) {
            known = known.or(in(below));
        }
        if (layer.equals("spark") || layer.startsWith("spark.")) {
            known = known.or(resideInAnyPackage(SPARK.toArray(String[]::new)));
        }
        known = known.or(
                resideInAnyPackage(BROUGHT.getOrDefault(layer, List.of()).toArray(String[]::new)));
        classes().that(in(layer)).should().onlyDependOnClassesThat(known).check(PRODUCT);
    }

    @Test
    void packagesHaveNoCycle() {
        // The values are a layer of their own, though they share the package of the entry points.
        JavaClasses others = PRODUCT.that(DescribedPredicate.not(resideInAPackage(ROOT)));
        slices().matching(ROOT + ".(**)").should().beFreeOfCycles().check(others);
    }

    @Test
    void noPackageHasTooManyFiles() {
        Map<String, Set<String>> files = new TreeMap<>();
        for (JavaClass each : PRODUCT) {
            files.computeIfAbsent(each.getPackageName(), name -> new TreeSet<>())
                    .add(each.getSource().flatMap(Source::getFileName).orElse(each.getName()));
        }
        files.forEach((name, of) -> assertTrue(of.size() <= MOST_FILES, name + " has " + of.size() + " files: " + of));
    }

    /** In the thread of a query whose session was just stopped, these calls would create a context. */
    @Test
    void nothingCreatesASparkContext() {
        noClasses()
                .should()
                .callMethodWhere(DescribedPredicate.describe(
                        "creates a context or session",
                        call -> call.getTargetOwner().getName().startsWith("org.apache.spark.")
                                && Set.of("getOrCreate", "active", "builder").contains(call.getName())))
                .check(PRODUCT);
    }

    /** In a module, a program can name a type only if its package is exported. */
    @Test
    void exportedTypesNameOnlyExportedTypes() throws IOException {
        String module = Files.readString(Path.of("jvm/src/module/java/module-info.java"));
        Set<String> exported = Pattern.compile("exports ([\\w.]+);")
                .matcher(module)
                .results()
                .map(each -> each.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertTrue(exported.contains(ROOT), module);
        Set<String> hidden = new TreeSet<>();
        for (JavaClass each : PRODUCT) {
            if (exported.contains(each.getPackageName()) && (isPublic(each) || !each.isNestedClass())) {
                Stream<JavaMember> members = each.getMembers().stream().filter(LayerTest::isApi);
                members.flatMap(member -> member instanceof JavaCodeUnit code
                                ? Stream.concat(
                                        Stream.concat(
                                                code.getReturnType().getAllInvolvedRawTypes().stream(),
                                                code.getParameterTypes().stream()
                                                        .flatMap(type -> type.getAllInvolvedRawTypes().stream())),
                                        code.getThrowsClause().stream().map(ThrowsDeclaration::getRawType))
                                : ((JavaField) member).getType().getAllInvolvedRawTypes().stream())
                        .map(JavaClass::getBaseComponentType)
                        .filter(type -> type.getPackageName().startsWith(ROOT))
                        .filter(type -> !exported.contains(type.getPackageName()) || !isPublic(type))
                        .forEach(type -> hidden.add(each.getName() + " names " + type.getName()));
            }
        }
        assertEquals(Set.of(), hidden);
    }

    // Also in a class that is not public: public ones may inherit it.
    private static boolean isApi(JavaMember member) {
        return member.getModifiers().contains(JavaModifier.PUBLIC)
                || member.getModifiers().contains(JavaModifier.PROTECTED);
    }

    private static boolean isPublic(JavaClass type) {
        return type.getModifiers().contains(JavaModifier.PUBLIC);
    }

    @Test
    void everyClassBelongsToALayer() {
        DescribedPredicate<JavaClass> known = DescribedPredicate.alwaysFalse();
        for (String layer : LAYERS.keySet()) {
            known = known.or(in(layer));
        }
        classes()
                .should()
                .resideInAPackage(ROOT + "..")
                .andShould(ArchCondition.from(known))
                .check(PRODUCT);
    }

    private static DescribedPredicate<JavaClass> in(String layer) {
        DescribedPredicate<JavaClass> values = DescribedPredicate.describe(
                "the value types of the face",
                each -> each.getPackageName().equals(ROOT) && VALUES.contains(topLevel(each.getBaseComponentType())));
        return switch (layer) {
            case "values" -> values;
            case FACE -> resideInAPackage(ROOT).and(DescribedPredicate.not(values));
            default -> resideInAPackage(ROOT + "." + layer);
        };
    }

    private static String topLevel(JavaClass each) {
        String simple = each.getName().substring(each.getPackageName().length() + 1);
        int nested = simple.indexOf('$');
        return nested < 0 ? simple : simple.substring(0, nested);
    }
}
