package org.mmapqueue.support;

import java.util.stream.LongStream;
import net.jqwik.api.lifecycle.AroundPropertyHook;
import net.jqwik.api.lifecycle.PropagationMode;
import net.jqwik.api.lifecycle.PropertyExecutionResult;
import net.jqwik.api.lifecycle.PropertyExecutor;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

/**
 * Gives the properties of a class the same seed in each run: no build fails for an input that another build did not
 * draw. The system property property.seed is another seed, or "random" for a new one in each run, which is printed.
 */
public final class PropertySeed implements AroundPropertyHook {
    private static final String RANDOM = "random";
    private static final String SEED = System.getProperty("property.seed", "1");

    /** As many seeds, for tests that draw by themselves. */
    public static LongStream seeds(int count) {
        long first = SEED.equals(RANDOM) ? System.nanoTime() : Long.parseLong(SEED);
        return LongStream.range(first, first + count);
    }

    @Override
    public PropagationMode propagateTo() {
        return PropagationMode.ALL_DESCENDANTS;
    }

    @Override
    public PropertyExecutionResult aroundProperty(PropertyLifecycleContext context, PropertyExecutor property) {
        if (!SEED.equals(RANDOM)) {
            context.attributes().setSeed(SEED);
        }
        PropertyExecutionResult result = property.execute();
        if (SEED.equals(RANDOM)) {
            System.out.println(context.label() + ": " + result.countTries() + " tries, seed "
                    + result.seed().orElse("none"));
        }
        return result;
    }
}
