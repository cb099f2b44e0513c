package org.junit.jupiter.api.extension;

/** Stands for JUnit's own where cprof-junit.jar is compiled; it is not in there. */
public interface BeforeTestExecutionCallback extends Extension {
    void beforeTestExecution(ExtensionContext context) throws Exception;
}
