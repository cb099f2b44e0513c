// Runs the main methods of the classes named, one after the other.
// not-run
class Batch {
    public static void main(String[] names) throws Throwable {
        for (String name : names) {
            try {
                Class.forName(name).getDeclaredMethod("main", String[].class).invoke(null, (Object) new String[0]);
            } catch (java.lang.reflect.InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }
}
