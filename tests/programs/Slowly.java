// Shows: a system class loader of the program's own that is asked all the time and holds its lock while it looks, so that nobody may ask it while
// threads stand still.
// not-run
import java.io.BufferedReader;
import java.io.InputStreamReader;

public class Slowly extends ClassLoader {
    public Slowly(ClassLoader parent) {
        super(parent);
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        if (name.equals("Nothing")) {
            try {
                Thread.sleep(200);
            } catch (InterruptedException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
        throw new ClassNotFoundException(name);
    }

    static void asks() {
        for (;;) {
            try {
                ClassLoader.getSystemClassLoader().loadClass("Nothing");
            } catch (ClassNotFoundException e) {
                Thread.onSpinWait();
            }
        }
    }

    static int requested(int times) {
        int sum = 0;
        for (int i = 0; i < times; i++) sum += i;
        return sum;
    }

    public static void main(String[] args) throws Exception {
        Thread asking = new Thread(Slowly::asks);
        asking.setDaemon(true);
        asking.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(requested(Integer.parseInt(line)));
        }
    }
}
