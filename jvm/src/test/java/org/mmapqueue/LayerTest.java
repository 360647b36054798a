package org.mmapqueue;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Which package may use which. Arrows never run back up, and the outside is the JDK and slf4j. */
class LayerTest {
    private static final String ROOT = "org.mmapqueue.";

    /** Bottom-up: each layer and what it may use besides itself. */
    private static final Map<String, List<String>> LAYERS = Map.of(
            "errors", List.of(),
            "io", List.of("errors"),
            "meta", List.of("io", "errors"),
            "segment", List.of("io", "errors"),
            "swap", List.of("segment", "io", "errors"),
            "flush", List.of("segment", "meta", "io", "errors"),
            "queue", List.of("flush", "swap", "segment", "meta", "io", "errors"),
            "bridge", List.of("queue", "errors"),
            "tool", List.of("segment", "meta", "io", "errors"),
            "spark", List.of("queue", "io", "errors"));

    private static final List<String> PLATFORM = List.of("java..", "javax..", "jdk..", "sun.misc..", "org.slf4j..");

    /** What Spark's own interfaces are made of. */
    private static final List<String> SPARK = List.of("org.apache.spark..", "scala..", "org.apache.hadoop..",
            "com.fasterxml.jackson..", "com.codahale.metrics..");

    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("org.mmapqueue");

    static Stream<String> layers() {
        return LAYERS.keySet().stream().sorted();
    }

    @ParameterizedTest
    @MethodSource("layers")
    void usesOnlyWhatIsBelow(String layer) {
        Stream<String> own = Stream.concat(Stream.of(layer), LAYERS.get(layer).stream()).map(LayerTest::packages);
        Stream<String> outside = Stream.concat(PLATFORM.stream(), layer.equals("spark") ? SPARK.stream() : Stream.of());
        classes().that(resideInAPackage(packages(layer)))
                .should().onlyDependOnClassesThat(resideInAnyPackage(Stream.concat(own, outside).toArray(String[]::new)))
                // A layer that is not there breaks no rule.
                .allowEmptyShould(true)
                .check(PRODUCT);
    }

    @Test
    void readingAndWritingOfTheDataSourceKnowOnlyWhatTheyShare() {
        String common = packages("spark.common");
        String read = packages("spark.read");
        String write = packages("spark.write");
        for (List<String> arrow : List.of(List.of(common, read), List.of(common, write), List.of(read, write),
                List.of(write, read))) {
            noClasses().that(resideInAPackage(arrow.get(0)))
                    .should().dependOnClassesThat(resideInAPackage(arrow.get(1))).check(PRODUCT);
        }
    }

    @Test
    void everyClassBelongsToALayer() {
        String[] known = layers().map(LayerTest::packages).toArray(String[]::new);
        classes().should().resideInAnyPackage(known).allowEmptyShould(true).check(PRODUCT);
    }

    private static String packages(String layer) {
        return ROOT + layer + "..";
    }
}
