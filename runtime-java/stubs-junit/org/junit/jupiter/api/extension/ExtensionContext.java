package org.junit.jupiter.api.extension;

import java.lang.reflect.Method;
import java.util.Optional;

/** Stands for JUnit's own where cprof-junit.jar is compiled, with what that uses; it is not in there. */
public interface ExtensionContext {
    Method getRequiredTestMethod();

    Optional<Throwable> getExecutionException();

    Optional<String> getConfigurationParameter(String key);

    Store getStore(Namespace namespace);

    class Namespace {
        private Namespace() {}

        public static Namespace create(Object... parts) {
            return new Namespace();
        }
    }

    interface Store {
        Object get(Object key);

        void put(Object key, Object value);
    }
}
