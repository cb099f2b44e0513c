package org.junit.jupiter.api.extension;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Stands for JUnit's own where cprof-junit.jar is compiled; it is not in there. */
@Retention(RetentionPolicy.RUNTIME)
public @interface ExtendWith {
    Class<? extends Extension>[] value();
}
